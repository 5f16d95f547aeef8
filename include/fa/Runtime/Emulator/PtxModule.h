// PTX text as data: what the parser makes and the lowering reads. Register names are already resolved to virtual
// registers by scope; other names stay text until the lowering knows parameters, variables and labels.
#pragma once
#include "fa/Support/Expected.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fa::runtime::emulator::ptx {

/// The fundamental width behind a declared type (.f32, .u32 and .b32 registers are one kind).
enum class RegisterClass : uint8_t { Predicate, B16, B32, B64, B128 };
unsigned bytesOf(RegisterClass kind);

/// Bytes of a type name such as `f32` or `bf16x2`; 0 when it is none.
size_t bytesOfTypeName(std::string_view type);

struct VirtualRegister {
  std::string name;
  RegisterClass kind = RegisterClass::B32;
};

struct Operand {
  enum class Kind : uint8_t {
    Register,  ///< `reg`, optionally `| reg2`; `negated` for !p
    Immediate, ///< `bits`; `isFloat` with `floatBytes` 4 (0f) or 8 (0d, decimal)
    Name,      ///< parameter, variable or label, plus `offset`
    Special,   ///< %tid.x and the like, in `name`
    Sink,      ///< `_`, optionally `| reg2`
    Vector,    ///< {a, b, ..} in `elements`
    Address,   ///< [base + offset]: base in elements[0]; `[map, {c0, ..}]`: coordinates in elements[1]
  };
  Kind kind = Kind::Immediate;
  bool negated = false;
  bool isFloat = false;
  uint8_t floatBytes = 0;
  int reg = -1;
  int reg2 = -1; ///< after `|`
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string_view name;
  std::vector<Operand> elements;
};

struct Instruction {
  int line = 0;
  int guard = -1; ///< predicate register, -1: none
  bool guardNegated = false;
  std::string_view opcode; ///< whole text, e.g. `add.s32`
  std::vector<Operand> operands;
  int scope = 0;
};

struct Label {
  std::string_view name;
  int scope = 0;
  size_t position = 0; ///< index of the instruction that follows
  int line = 0;
};

/// A parameter, or a .shared / .global / .const / .local variable.
struct Variable {
  enum class Space : uint8_t { Param, Shared, Global, Const, Local };
  Space space = Space::Global;
  std::string name;
  size_t align = 1;
  size_t bytes = 0; ///< 0: size unknown (dynamic shared memory)
  bool isExtern = false;
  std::vector<uint8_t> initialiser;
  int line = 0;
};

struct BranchTargets {
  std::string_view name;
  int scope = 0;
  std::vector<std::string_view> labels;
};

struct Entry {
  std::string name;
  int line = 0;
  std::vector<Variable> parameters;
  std::vector<Variable> variables; ///< declared in the body
  std::vector<VirtualRegister> registers;
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<BranchTargets> branchTargets;
  std::vector<int> scopeParents; ///< scope -> enclosing scope, -1 for the body
  uint32_t requiredThreads[3] = {}, maxThreads[3] = {}, requiredCluster[3] = {};
  uint32_t maxRegisters = 0;
  bool hasLaunchBounds = false;
};

struct Module {
  std::string text; ///< every string_view above points into it
  std::string version, target;
  std::vector<Variable> variables; ///< module scope
  std::vector<Entry> entries;
};

/// Parses PTX text. Errors are `ptx line N: expected X, but got Y` with code 218. Never crashes on any input.
Expected<std::unique_ptr<Module>> parse(std::string text);

} // namespace fa::runtime::emulator::ptx
