// Handlers of LaneOps.def and the other vector operations, compiled once per instruction set and chosen at run time.
#pragma once
#include "Kernel.h"

namespace fa::runtime::emulator {

enum class LaneOp : uint16_t {
#define UNARY(name, D, A, e) name,
#define BINARY(name, D, A, e) name,
#define SHIFT(name, D, A, e) name,
#define TERNARY(name, D, A, e) name,
#define MIXED(name, D, A, e) name,
#define FIELD(name, D, e) name,
#define DOTPRODUCT(name, signedA, signedB) name,
#define COMPARE(name, A, e) name,
#define COMPARE_FLOAT(name, A, e) name, name##Ftz,
#include "LaneOps.def"
#undef UNARY
#undef BINARY
#undef SHIFT
#undef TERNARY
#undef MIXED
#undef FIELD
#undef DOTPRODUCT
#undef COMPARE
#undef COMPARE_FLOAT
  Select16,
  Select32,
  Select64,
  Count
};

/// The table for the widest instruction set of this machine.
const Handler *laneHandlers();
inline Handler laneHandler(LaneOp op) { return laneHandlers()[static_cast<unsigned>(op)]; }

/// setp: Instr::mode bits 0..1 combine with predicate c (0 none, 1 and, 2 or, 3 xor), bit 2 negates c; the complement
/// goes to predicate Instr::extra.
inline constexpr uint16_t compareAnd = 1, compareOr = 2, compareXor = 3, compareNegate = 4;

} // namespace fa::runtime::emulator
