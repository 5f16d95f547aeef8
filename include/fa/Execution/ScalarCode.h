// Compact code for the scalar regions of an attention, so that the reference can evaluate them once per (query, key)
// pair. Floating point is float64 throughout; integers wrap at the width of their type.
#pragma once
#include "fa/Runtime/Driver.h"
#include <cstdint>
#include <string>
#include <vector>

namespace fa::execution {

/// One register.
union Slot {
  int64_t i;
  double f;
};

enum class Opcode : uint8_t {
  // Integers; the result is wrapped to `width` bits.
  AddI,
  SubI,
  MulI,
  DivSI,
  DivUI,
  RemSI,
  RemUI,
  CeilDivSI,
  CeilDivUI,
  FloorDivSI,
  And,
  Or,
  Xor,
  Shl,
  ShrS,
  ShrU,
  MinSI,
  MaxSI,
  MinUI,
  MaxUI,
  CmpI,
  ExtUI,
  ExtSI,
  TruncI,
  AbsI,
  // Floating point.
  AddF,
  SubF,
  MulF,
  DivF,
  RemF,
  NegF,
  MinimumF,
  MaximumF,
  MinNumF,
  MaxNumF,
  CmpF,
  AbsF,
  Exp,
  Exp2,
  ExpM1,
  Log,
  Log2,
  Log10,
  Log1P,
  Sqrt,
  RSqrt,
  Cbrt,
  Tanh,
  Sin,
  Cos,
  Tan,
  Sinh,
  Cosh,
  Asin,
  Acos,
  Atan,
  Asinh,
  Acosh,
  Atanh,
  Atan2,
  Erf,
  PowF,
  FPowI,
  Ceil,
  Floor,
  Round,
  RoundEven,
  Trunc,
  Fma,
  CopySign,
  IsNaN,
  IsInf,
  IsFinite,
  // Conversions. RoundF rounds to the type named by `immediate` (a DType).
  SIToF,
  UIToF,
  FToSI,
  FToUI,
  RoundF,
  Ext,
  BitsOfF32,
  F32OfBits,
  BitsOfF64,
  F64OfBits,
  // Everything else.
  Select,
  Load,
  Jump,
  JumpUnless,
  Copy
};

/// result = op(a, b, c). CmpI and CmpF: `immediate` is the predicate as MLIR numbers it. Load: index into `loads`. Jump
/// and JumpUnless (of a): index of the next instruction.
struct Instruction {
  Opcode op;
  uint8_t width = 64;
  uint32_t result = 0, a = 0, b = 0, c = 0;
  int64_t immediate = 0;
};

/// A tensor that code reads, and the registers that hold its indices.
struct LoadSite {
  runtime::Tensor tensor;
  std::vector<uint32_t> indices;
  bool isFloat = false;
  std::string what; ///< for messages: the source location
};

/// Code of one region in three parts: `once` needs no argument, `row` needs the batch, head and query, `element` needs
/// the key and the score. Registers 0 to 4 hold (score, batch, head, query, key).
struct ScalarCode {
  static constexpr uint32_t scoreSlot = 0, batchSlot = 1, headSlot = 2, querySlot = 3, keySlot = 4, firstFreeSlot = 5;
  std::vector<Instruction> once, row, element;
  std::vector<LoadSite> loads;
  std::vector<Slot> registers; ///< initial contents: constants are here
  uint32_t result = 0;
};

/// Executes code. Not for several threads at a time: each takes a copy.
class ScalarMachine {
public:
  explicit ScalarMachine(const ScalarCode &code);

  /// The region's result for one pair: a score, or 0 / 1 of a mask.
  Slot evaluate(double score, int64_t b, int64_t h, int64_t i, int64_t j);
  /// Empty, or what the first faulty evaluation did (an index out of bounds, a division by zero).
  const std::string &error() const { return fault; }

private:
  const ScalarCode *code;
  std::vector<Slot> registers;
  int64_t rowBatch = -1, rowHead = -1, rowQuery = -1;
  std::string fault;

  void execute(const std::vector<Instruction> &instructions);
  void executeInteger(const Instruction &instruction);
  void executeFloat(const Instruction &instruction);
  void load(const Instruction &instruction);
  int64_t divide(const Instruction &instruction, int64_t x, int64_t y);
};

} // namespace fa::execution
