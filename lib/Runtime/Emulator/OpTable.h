// The one place that says which opcodes exist, which qualifiers they take, what their operands are and who lowers them.
#pragma once
#include "Kernel.h"
#include "fa/Runtime/Emulator/PtxModule.h"
#include <span>

namespace fa::runtime::emulator {

class Lowering;

/// An opcode split at its dots. parts[0] is the first word.
struct Opcode {
  std::string_view text;
  std::vector<std::string_view> parts;
  bool has(std::string_view qualifier) const;
  /// The n-th part from the end.
  std::string_view fromEnd(size_t n) const {
    return n < parts.size() ? parts[parts.size() - 1 - n] : std::string_view();
  }
  std::string_view type() const { return fromEnd(0); }
};
Opcode splitOpcode(std::string_view text);

/// What the lowering of one instruction works on.
struct OpContext {
  Lowering &lowering;
  const ptx::Instruction &ptx;
  const Opcode &op;
  Instr &out;
};
using LowerFunction = void (*)(OpContext &context);

struct OpPattern {
  /// Leading words of the opcode; the longest pattern that matches wins.
  std::string_view mnemonic;
  /// Accepted words after the mnemonic; `@int`, `@float`, `@bits` stand for type lists, `*` accepts any.
  std::string_view qualifiers;
  /// One letter an operand, optional ones after `?`:
  /// d destination register (or _), D the same with an optional `|p`, p destination predicate with an optional `|q`,
  /// V destination register or vector, R vector read and written, a source value, q source predicate, v source vector
  /// or value, m memory address, W destination register or (left out) address, t tensor address, i immediate, l label
  /// or name.
  std::string_view operands;
  LowerFunction lower;
};

/// The pattern for an opcode, or null.
const OpPattern *findPattern(const Opcode &op);
/// All patterns, grouped by the file that lowers them.
std::span<const OpPattern> arithmeticPatterns();
std::span<const OpPattern> bitPatterns();
std::span<const OpPattern> conversionPatterns();
std::span<const OpPattern> controlPatterns();
std::span<const OpPattern> memoryPatterns();
std::span<const OpPattern> syncPatterns();
std::span<const OpPattern> tensorPatterns();

/// Whether the handler reads all its sources before it writes (arithmetic, bits, conversions).
bool readsFirst(const OpPattern *pattern);

/// First qualifier that the pattern does not accept; empty when all are.
std::string_view unknownQualifier(const OpPattern &pattern, const Opcode &op);

} // namespace fa::runtime::emulator
