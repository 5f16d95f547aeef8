// Turns a parsed entry into a Kernel: matches opcodes, resolves labels and variables, assigns register slots, and calls
// each opcode's lowering function.
#pragma once
#include "ControlFlow.h"
#include "OpTable.h"
#include <map>
#include <unordered_map>

namespace fa::runtime::emulator {

class Lowering {
public:
  /// `globals`: module-scope .global and .const variables with their addresses.
  Lowering(const ptx::Module &module, const ptx::Entry &entry, const std::vector<Program::Global> &globals)
      : module(module), entry(entry), globals(globals) {}
  Expected<Kernel> run();

  // For lowering functions. After fail() the returned values mean nothing and the instruction is dropped.
  void fail(const ptx::Instruction &instruction, const std::string &message);
  bool failed() const { return !failure.empty(); }
  /// Slot of a source of `bytes` bytes (1, 2, 4, 8): register, immediate, special register or variable address.
  /// `anyWidth`: a register may be wider or narrower (ld, st, cvt).
  uint32_t source(OpContext &context, size_t index, unsigned bytes, bool isFloat = false, bool anyWidth = false);
  uint32_t source(OpContext &context, const ptx::Operand &operand, unsigned bytes, bool isFloat = false,
                  bool anyWidth = false);
  uint32_t destination(OpContext &context, size_t index, unsigned bytes, bool anyWidth = false);
  uint32_t destination(OpContext &context, const ptx::Operand &operand, unsigned bytes, bool anyWidth = false);
  /// Predicate index; `negated` says whether the operand carries `!`.
  uint32_t sourcePredicate(OpContext &context, size_t index, bool &negated);
  uint32_t destinationPredicate(OpContext &context, const ptx::Operand &operand);
  uint32_t secondPredicate(const ptx::Operand &operand) const;
  AddressRef address(OpContext &context, size_t index, const char *space);
  AddressRef address(OpContext &context, const ptx::Operand &operand, const char *space);
  uint32_t constant(uint64_t bits, bool wide);
  uint32_t special(OpContext &context, std::string_view name, bool &wide);
  /// Appends slots to the kernel's lists and points the instruction at them.
  void setList(Instr &out, const std::vector<uint32_t> &slots);
  bool immediate(OpContext &context, size_t index, int64_t &value);
  /// Number of bytes that the operand's register holds; 0 when it is no register.
  unsigned registerBytes(const ptx::Operand &operand) const;
  bool isPredicate(const ptx::Operand &operand) const;
  std::vector<uint32_t> tensorNumbers(const ptx::Operand &operand) const;
  int32_t labelTarget(OpContext &context, std::string_view name, int scope);
  const ptx::BranchTargets *findTargets(std::string_view name, int scope) const;
  Kernel kernel;

private:
  struct Access {
    std::vector<int> reads, writes;
    std::vector<int> keeps; ///< written only in part, or maybe read: live before
  };
  bool matchOpcodes();
  bool checkOperands(const ptx::Instruction &instruction, const OpPattern &pattern, const Opcode &op);
  void collectAccess(const ptx::Instruction &instruction, const OpPattern &pattern, Access &access);
  void layoutParameters();
  bool layoutShared();
  bool buildFlow();
  void assignSlots();
  void computeLiveness(std::vector<BitSet> &liveIn, std::vector<BitSet> &liveOut) const;
  void extendInFlight(std::vector<std::pair<int, int>> &intervals) const;
  void recordTouches();
  void lowerInstructions();
  bool variableAddress(std::string_view name, uint64_t &value) const;
  static bool isWgmma(const Opcode &op) { return op.text.starts_with("wgmma.mma_async"); }

  const ptx::Module &module;
  const ptx::Entry &entry;
  const std::vector<Program::Global> &globals;
  std::string failure;
  std::vector<Opcode> opcodes;
  std::vector<const OpPattern *> patterns;
  std::vector<Access> accesses;
  std::vector<Flow> flow;
  std::vector<Block> blocks;
  std::vector<uint32_t> tensorNumber; ///< virtual register -> tensor register number
  std::vector<uint32_t> slotOf;       ///< virtual register -> slot number, or predicate index
  std::map<std::pair<uint64_t, bool>, uint32_t> constants;
  std::map<Special, uint32_t> specials;
  std::map<std::string, std::pair<uint64_t, bool>, std::less<>> variables; ///< name -> address, is a parameter
};

} // namespace fa::runtime::emulator
