// What the lowering of scalar opcodes shares: picking a vector operation by type, and emitting it.
#pragma once
#include "Handlers.h"
#include "LaneOps.h"
#include "Lowering.h"
#include <initializer_list>

namespace fa::runtime::emulator::scalar {

struct Choice {
  std::string_view type;
  LaneOp op;
};

inline unsigned bytesOf(std::string_view type) { return static_cast<unsigned>(ptx::bytesOfTypeName(type)); }
inline bool isFloatType(std::string_view type) { return type.starts_with("f") || type.starts_with("bf"); }

inline bool pick(OpContext &context, std::initializer_list<Choice> choices, LaneOp &op) {
  for (const Choice &choice : choices)
    if (choice.type == context.op.type()) {
      op = choice.op;
      return true;
    }
  return false;
}

/// Destination of `dBytes`, then `count` sources of `bytes` each.
inline void emit(OpContext &context, LaneOp op, unsigned dBytes, std::initializer_list<unsigned> sourceBytes,
                 bool isFloat = false) {
  Instr &out = context.out;
  out.d = context.lowering.destination(context, 0, dBytes);
  size_t index = 1;
  uint32_t *fields[] = {&out.a, &out.b, &out.c};
  for (unsigned bytes : sourceBytes) {
    *fields[index - 1] = context.lowering.source(context, index, bytes, isFloat);
    ++index;
  }
  out.handler = laneHandler(op);
}

inline void emitTyped(OpContext &context, LaneOp op, size_t sources) {
  std::string_view type = context.op.type();
  unsigned bytes = bytesOf(type);
  bool isFloat = isFloatType(type);
  if (sources == 1)
    emit(context, op, bytes, {bytes}, isFloat);
  else if (sources == 2)
    emit(context, op, bytes, {bytes, bytes}, isFloat);
  else
    emit(context, op, bytes, {bytes, bytes, bytes}, isFloat);
}

inline int roundingOf(const Opcode &op) { return op.has("rz") ? 1 : op.has("rm") ? 2 : op.has("rp") ? 3 : 0; }

} // namespace fa::runtime::emulator::scalar
