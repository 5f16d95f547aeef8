// Scalar arithmetic, logic, comparison and conversion opcodes.
#include "Handlers.h"
#include "LaneOps.h"
#include "Lowering.h"
#include "fa/Runtime/Emulator/Engine/SpecialFunctions.h"
#include <initializer_list>

namespace fa::runtime::emulator {
namespace {

using ptx::Operand;

struct Choice {
  std::string_view type;
  LaneOp op;
};

unsigned bytesOf(std::string_view type) { return static_cast<unsigned>(ptx::bytesOfTypeName(type)); }
bool isFloatType(std::string_view type) { return type.starts_with("f") || type.starts_with("bf"); }

bool pick(OpContext &context, std::initializer_list<Choice> choices, LaneOp &op) {
  for (const Choice &choice : choices)
    if (choice.type == context.op.type()) {
      op = choice.op;
      return true;
    }
  return false;
}

/// Destination of `dBytes`, then `count` sources of `bytes` each.
void emit(OpContext &context, LaneOp op, unsigned dBytes, std::initializer_list<unsigned> sourceBytes, bool isFloat = false) {
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

void emitTyped(OpContext &context, LaneOp op, size_t sources) {
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

int roundingOf(const Opcode &op) { return op.has("rz") ? 1 : op.has("rm") ? 2 : op.has("rp") ? 3 : 0; }

/// Directed rounding: slow path through the host's rounding mode.
void emitRounded(OpContext &context, int operation, size_t sources) {
  emitTyped(context, LaneOp::MovB32, sources);
  context.out.handler = handleRounded;
  context.out.size = static_cast<uint16_t>(bytesOf(context.op.type()));
  context.out.mode = static_cast<uint16_t>(operation | roundingOf(context.op) << 4 | (context.op.has("ftz") ? 64 : 0) |
                                           (context.op.has("sat") ? 128 : 0));
}

void emitCarry(OpContext &context, int operation, bool uses) {
  emitTyped(context, LaneOp::MovB32, operation >= 2 ? 3 : 2);
  context.out.handler = handleCarry;
  context.out.size = static_cast<uint16_t>(bytesOf(context.op.type()));
  context.out.mode = static_cast<uint16_t>(operation | (uses ? 16 : 0) | (context.op.has("cc") ? 32 : 0) |
                                           (context.op.type()[0] == 's' ? 64 : 0));
}

struct FloatFamily {
  int operation; ///< of handleRounded
  LaneOp f32, f32Ftz, f32Sat, f32SatFtz, f64, f16, bf16, f16x2, bf16x2;
};

/// add, sub, mul, fma on floating-point types.
bool lowerFloat(OpContext &context, const FloatFamily &family, size_t sources) {
  const Opcode &op = context.op;
  std::string_view type = op.type();
  if (!isFloatType(type))
    return false;
  if (roundingOf(op) && (type == "f32" || type == "f64")) {
    emitRounded(context, family.operation, sources);
    return true;
  }
  bool ftz = op.has("ftz"), sat = op.has("sat");
  if (type == "f32")
    emitTyped(context, sat ? (ftz ? family.f32SatFtz : family.f32Sat) : ftz ? family.f32Ftz : family.f32, sources);
  else if (sat || op.has("relu"))
    return true; // no handler: refused
  else
    emitTyped(context, type == "f64" ? family.f64 : type == "f16" ? family.f16 : type == "bf16" ? family.bf16 : type == "f16x2" ? family.f16x2 : family.bf16x2, sources);
  return true;
}

constexpr FloatFamily addFamily{0, LaneOp::AddF32, LaneOp::AddF32Ftz, LaneOp::AddSatF32, LaneOp::AddSatF32Ftz, LaneOp::AddF64, LaneOp::AddF16, LaneOp::AddBF16, LaneOp::AddF16x2, LaneOp::AddBF16x2};
constexpr FloatFamily subFamily{1, LaneOp::SubF32, LaneOp::SubF32Ftz, LaneOp::SubSatF32, LaneOp::SubSatF32Ftz, LaneOp::SubF64, LaneOp::SubF16, LaneOp::SubBF16, LaneOp::SubF16x2, LaneOp::SubBF16x2};
constexpr FloatFamily mulFamily{2, LaneOp::MulF32, LaneOp::MulF32Ftz, LaneOp::MulSatF32, LaneOp::MulSatF32Ftz, LaneOp::MulF64, LaneOp::MulF16, LaneOp::MulBF16, LaneOp::MulF16x2, LaneOp::MulBF16x2};
constexpr FloatFamily fmaFamily{3, LaneOp::FmaF32, LaneOp::FmaF32Ftz, LaneOp::FmaSatF32, LaneOp::FmaSatF32Ftz, LaneOp::FmaF64, LaneOp::FmaF16, LaneOp::FmaBF16, LaneOp::FmaF16x2, LaneOp::FmaBF16x2};

void lowerAdd(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, addFamily, 2))
    return;
  if (context.op.has("cc"))
    return emitCarry(context, 0, false);
  if (context.op.has("sat")) {
    if (context.op.type() == "s32")
      emitTyped(context, LaneOp::AddSatS32, 2);
  } else if (pick(context, {{"u16", LaneOp::AddU16}, {"s16", LaneOp::AddU16}, {"u32", LaneOp::AddU32}, {"s32", LaneOp::AddU32}, {"u64", LaneOp::AddU64}, {"s64", LaneOp::AddU64}}, op)) {
    emitTyped(context, op, 2);
  }
}

void lowerSub(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, subFamily, 2))
    return;
  if (context.op.has("cc"))
    return emitCarry(context, 1, false);
  if (context.op.has("sat")) {
    if (context.op.type() == "s32")
      emitTyped(context, LaneOp::SubSatS32, 2);
  } else if (pick(context, {{"u16", LaneOp::SubU16}, {"s16", LaneOp::SubU16}, {"u32", LaneOp::SubU32}, {"s32", LaneOp::SubU32}, {"u64", LaneOp::SubU64}, {"s64", LaneOp::SubU64}}, op)) {
    emitTyped(context, op, 2);
  }
}

void lowerAddCarry(OpContext &context) { emitCarry(context, 0, true); }
void lowerSubCarry(OpContext &context) { emitCarry(context, 1, true); }

void lowerMul(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, mulFamily, 2))
    return;
  unsigned bytes = bytesOf(context.op.type());
  if (context.op.has("wide")) {
    if (pick(context, {{"u16", LaneOp::MulWideU16}, {"s16", LaneOp::MulWideS16}, {"u32", LaneOp::MulWideU32}, {"s32", LaneOp::MulWideS32}}, op))
      emit(context, op, 2 * bytes, {bytes, bytes});
  } else if (context.op.has("hi")) {
    if (pick(context, {{"u16", LaneOp::MulHiU16}, {"s16", LaneOp::MulHiS16}, {"u32", LaneOp::MulHiU32}, {"s32", LaneOp::MulHiS32}, {"u64", LaneOp::MulHiU64}, {"s64", LaneOp::MulHiS64}}, op))
      emitTyped(context, op, 2);
  } else if (context.op.has("lo")) {
    if (pick(context, {{"u16", LaneOp::MulLoU16}, {"s16", LaneOp::MulLoU16}, {"u32", LaneOp::MulLoU32}, {"s32", LaneOp::MulLoU32}, {"u64", LaneOp::MulLoU64}, {"s64", LaneOp::MulLoU64}}, op))
      emitTyped(context, op, 2);
  }
}

void lowerFma(OpContext &context) { lowerFloat(context, fmaFamily, 3); }

void lowerMad(OpContext &context) {
  LaneOp op;
  if (lowerFloat(context, fmaFamily, 3))
    return;
  unsigned bytes = bytesOf(context.op.type());
  if (context.op.has("cc"))
    return emitCarry(context, context.op.has("hi") ? 3 : 2, false);
  if (context.op.has("wide")) {
    if (pick(context, {{"u16", LaneOp::MadWideU16}, {"s16", LaneOp::MadWideS16}, {"u32", LaneOp::MadWideU32}, {"s32", LaneOp::MadWideS32}}, op))
      emit(context, op, 2 * bytes, {bytes, bytes, 2 * bytes});
  } else if (context.op.has("hi")) {
    if (pick(context, {{"u32", LaneOp::MadHiU32}, {"s32", LaneOp::MadHiS32}, {"u64", LaneOp::MadHiU64}, {"s64", LaneOp::MadHiS64}}, op))
      emitTyped(context, op, 3);
  } else if (context.op.has("lo")) {
    if (pick(context, {{"u16", LaneOp::MadLoU16}, {"s16", LaneOp::MadLoU16}, {"u32", LaneOp::MadLoU32}, {"s32", LaneOp::MadLoU32}, {"u64", LaneOp::MadLoU64}, {"s64", LaneOp::MadLoU64}}, op))
      emitTyped(context, op, 3);
  }
}

void lowerMadCarry(OpContext &context) { emitCarry(context, context.op.has("hi") ? 3 : 2, true); }

void lowerDiv(OpContext &context) {
  LaneOp op;
  if (context.op.type() == "f32") {
    if (roundingOf(context.op))
      return emitRounded(context, 4, 2);
    return emitTyped(context, context.op.has("ftz") ? LaneOp::DivF32Ftz : LaneOp::DivF32, 2);
  }
  if (context.op.type() == "f64" && roundingOf(context.op))
    return emitRounded(context, 4, 2);
  if (pick(context, {{"u16", LaneOp::DivU16}, {"s16", LaneOp::DivS16}, {"u32", LaneOp::DivU32}, {"s32", LaneOp::DivS32}, {"u64", LaneOp::DivU64}, {"s64", LaneOp::DivS64}, {"f64", LaneOp::DivF64}}, op))
    emitTyped(context, op, 2);
}

void lowerRem(OpContext &context) {
  LaneOp op;
  if (pick(context, {{"u16", LaneOp::RemU16}, {"s16", LaneOp::RemS16}, {"u32", LaneOp::RemU32}, {"s32", LaneOp::RemS32}, {"u64", LaneOp::RemU64}, {"s64", LaneOp::RemS64}}, op))
    emitTyped(context, op, 2);
}

void lowerNeg(OpContext &context) {
  LaneOp op;
  if (context.op.type() == "f32" && context.op.has("ftz"))
    return emitTyped(context, LaneOp::NegF32Ftz, 1);
  if (pick(context, {{"s16", LaneOp::NegS16}, {"s32", LaneOp::NegS32}, {"s64", LaneOp::NegS64}, {"f32", LaneOp::NegF32}, {"f64", LaneOp::NegF64}, {"f16", LaneOp::NegB16}, {"bf16", LaneOp::NegB16}, {"f16x2", LaneOp::NegB16x2}, {"bf16x2", LaneOp::NegB16x2}}, op))
    emitTyped(context, op, 1);
}

void lowerAbs(OpContext &context) {
  LaneOp op;
  if (context.op.type() == "f32" && context.op.has("ftz"))
    return emitTyped(context, LaneOp::AbsF32Ftz, 1);
  if (pick(context, {{"s16", LaneOp::AbsS16}, {"s32", LaneOp::AbsS32}, {"s64", LaneOp::AbsS64}, {"f32", LaneOp::AbsF32}, {"f64", LaneOp::AbsF64}, {"f16", LaneOp::AbsB16}, {"bf16", LaneOp::AbsB16}, {"f16x2", LaneOp::AbsB16x2}, {"bf16x2", LaneOp::AbsB16x2}}, op))
    emitTyped(context, op, 1);
}

void lowerMinMax(OpContext &context) {
  bool isMax = context.op.parts[0] == "max", nan = context.op.has("NaN"), ftz = context.op.has("ftz");
  std::string_view type = context.op.type();
  LaneOp op;
  if (context.op.has("xorsign"))
    return;
  if (context.op.has("relu")) {
    if (type == "s32")
      emitTyped(context, isMax ? LaneOp::MaxRelu : LaneOp::MinRelu, 2);
    return;
  }
  if (type == "f32") {
    op = isMax ? (nan ? (ftz ? LaneOp::MaxNaNF32Ftz : LaneOp::MaxNaNF32) : ftz ? LaneOp::MaxF32Ftz : LaneOp::MaxF32)
               : (nan ? (ftz ? LaneOp::MinNaNF32Ftz : LaneOp::MinNaNF32) : ftz ? LaneOp::MinF32Ftz : LaneOp::MinF32);
    return emitTyped(context, op, 2);
  }
  bool found = isMax ? pick(context, {{"u16", LaneOp::MaxU16}, {"s16", LaneOp::MaxS16}, {"u32", LaneOp::MaxU32}, {"s32", LaneOp::MaxS32}, {"u64", LaneOp::MaxU64}, {"s64", LaneOp::MaxS64}, {"f64", LaneOp::MaxF64}, {"f16", nan ? LaneOp::MaxNaNF16 : LaneOp::MaxF16}, {"bf16", nan ? LaneOp::MaxNaNBF16 : LaneOp::MaxBF16}, {"f16x2", nan ? LaneOp::MaxNaNF16x2 : LaneOp::MaxF16x2}, {"bf16x2", nan ? LaneOp::MaxNaNBF16x2 : LaneOp::MaxBF16x2}}, op)
                     : pick(context, {{"u16", LaneOp::MinU16}, {"s16", LaneOp::MinS16}, {"u32", LaneOp::MinU32}, {"s32", LaneOp::MinS32}, {"u64", LaneOp::MinU64}, {"s64", LaneOp::MinS64}, {"f64", LaneOp::MinF64}, {"f16", nan ? LaneOp::MinNaNF16 : LaneOp::MinF16}, {"bf16", nan ? LaneOp::MinNaNBF16 : LaneOp::MinBF16}, {"f16x2", nan ? LaneOp::MinNaNF16x2 : LaneOp::MinF16x2}, {"bf16x2", nan ? LaneOp::MinNaNBF16x2 : LaneOp::MinBF16x2}}, op);
  if (found)
    emitTyped(context, op, 2);
}

void lowerSad(OpContext &context) {
  LaneOp op;
  if (pick(context, {{"u32", LaneOp::SadU32}, {"s32", LaneOp::SadS32}}, op))
    emitTyped(context, op, 3);
}

void lowerLogic(OpContext &context) {
  std::string_view word = context.op.parts[0];
  Lowering &lowering = context.lowering;
  Instr &out = context.out;
  if (context.op.type() == "pred") {
    bool na = false, nb = false;
    out.d = lowering.destinationPredicate(context, context.ptx.operands[0]);
    out.a = lowering.sourcePredicate(context, 1, na);
    out.b = predicateFalse;
    if (word != "not")
      out.b = lowering.sourcePredicate(context, 2, nb);
    int operation = word == "and" ? 0 : word == "or" ? 1 : word == "xor" ? 2 : 3;
    out.mode = static_cast<uint16_t>(operation | (na ? 16 : 0) | (nb ? 32 : 0));
    out.handler = handlePredicateLogic;
    return;
  }
  LaneOp op;
  bool found = word == "and"   ? pick(context, {{"b16", LaneOp::AndB16}, {"b32", LaneOp::AndB32}, {"b64", LaneOp::AndB64}}, op)
               : word == "or"  ? pick(context, {{"b16", LaneOp::OrB16}, {"b32", LaneOp::OrB32}, {"b64", LaneOp::OrB64}}, op)
               : word == "xor" ? pick(context, {{"b16", LaneOp::XorB16}, {"b32", LaneOp::XorB32}, {"b64", LaneOp::XorB64}}, op)
               : word == "not" ? pick(context, {{"b16", LaneOp::NotB16}, {"b32", LaneOp::NotB32}, {"b64", LaneOp::NotB64}}, op)
                               : pick(context, {{"b16", LaneOp::CNotB16}, {"b32", LaneOp::CNotB32}, {"b64", LaneOp::CNotB64}}, op);
  if (found)
    emitTyped(context, op, word == "not" || word == "cnot" ? 1 : 2);
}

void lowerShift(OpContext &context) {
  LaneOp op;
  bool left = context.op.parts[0] == "shl";
  bool found = left ? pick(context, {{"b16", LaneOp::ShlB16}, {"b32", LaneOp::ShlB32}, {"b64", LaneOp::ShlB64}}, op)
                    : pick(context, {{"u16", LaneOp::ShrU16}, {"b16", LaneOp::ShrU16}, {"s16", LaneOp::ShrS16}, {"u32", LaneOp::ShrU32}, {"b32", LaneOp::ShrU32}, {"s32", LaneOp::ShrS32}, {"u64", LaneOp::ShrU64}, {"b64", LaneOp::ShrU64}, {"s64", LaneOp::ShrS64}}, op);
  unsigned bytes = bytesOf(context.op.type());
  if (found)
    emit(context, op, bytes, {bytes, 4});
}

void lowerFunnel(OpContext &context) {
  bool left = context.op.has("l"), clamp = context.op.has("clamp");
  emit(context, left ? (clamp ? LaneOp::ShfLClamp : LaneOp::ShfLWrap) : clamp ? LaneOp::ShfRClamp : LaneOp::ShfRWrap, 4, {4, 4, 4});
}

void lowerBitCount(OpContext &context) {
  std::string_view word = context.op.parts[0];
  LaneOp op;
  unsigned bytes = bytesOf(context.op.type());
  if (word == "popc" && pick(context, {{"b32", LaneOp::PopcB32}, {"b64", LaneOp::PopcB64}}, op))
    emit(context, op, 4, {bytes});
  if (word == "clz" && pick(context, {{"b32", LaneOp::ClzB32}, {"b64", LaneOp::ClzB64}}, op))
    emit(context, op, 4, {bytes});
  if (word == "brev" && pick(context, {{"b32", LaneOp::BrevB32}, {"b64", LaneOp::BrevB64}}, op))
    emit(context, op, bytes, {bytes});
  if (word == "bfind") {
    bool shift = context.op.has("shiftamt");
    if (pick(context, {{"u32", shift ? LaneOp::BfindShiftU32 : LaneOp::BfindU32}, {"s32", shift ? LaneOp::BfindShiftS32 : LaneOp::BfindS32}, {"u64", shift ? LaneOp::BfindShiftU64 : LaneOp::BfindU64}, {"s64", shift ? LaneOp::BfindShiftS64 : LaneOp::BfindS64}}, op))
      emit(context, op, 4, {bytes});
  }
}

void lowerBitField(OpContext &context) {
  LaneOp op;
  unsigned bytes = bytesOf(context.op.type());
  if (context.op.parts[0] == "bfe") {
    if (pick(context, {{"u32", LaneOp::BfeU32}, {"s32", LaneOp::BfeS32}, {"u64", LaneOp::BfeU64}, {"s64", LaneOp::BfeS64}}, op))
      emit(context, op, bytes, {bytes, 4, 4});
    return;
  }
  emit(context, LaneOp::MovB32, bytes, {bytes, bytes, 4});
  context.lowering.setList(context.out, {context.lowering.source(context, 4, 4)});
  context.out.size = static_cast<uint16_t>(bytes);
  context.out.handler = handleInsertField;
}

void lowerPermute(OpContext &context) {
  emit(context, LaneOp::PrmtB32, 4, {4, 4, 4});
  static const std::string_view modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  for (unsigned i = 0; i < 6; ++i)
    if (context.op.has(modes[i])) {
      context.out.mode = static_cast<uint16_t>(i + 1);
      context.out.handler = handlePermuteMode;
    }
}

void lowerLogic3(OpContext &context) {
  emit(context, LaneOp::PrmtB32, 4, {4, 4, 4});
  context.lowering.immediate(context, 4, context.out.imm);
  context.out.handler = handleLogic3;
}

void lowerDotBytes(OpContext &context) {
  bool sa = context.op.fromEnd(1) == "s32", sb = context.op.fromEnd(0) == "s32";
  emit(context, sa ? (sb ? LaneOp::Dp4aS32S32 : LaneOp::Dp4aS32U32) : sb ? LaneOp::Dp4aU32S32 : LaneOp::Dp4aU32U32, 4, {4, 4, 4});
}

void lowerSelect(OpContext &context) {
  unsigned bytes = bytesOf(context.op.type());
  bool negated = false;
  emit(context, bytes == 8 ? LaneOp::Select64 : bytes == 4 ? LaneOp::Select32 : LaneOp::Select16, bytes, {bytes, bytes}, isFloatType(context.op.type()));
  context.out.c = context.lowering.sourcePredicate(context, 3, negated);
  context.out.mode = negated;
}

void lowerSelectByCompare(OpContext &context) {
  unsigned bytes = bytesOf(context.op.fromEnd(1));
  emit(context, LaneOp::MovB32, bytes, {bytes, bytes, 4}, isFloatType(context.op.fromEnd(1)));
  context.out.mode = context.op.type() == "f32";
  context.out.size = static_cast<uint16_t>(bytes);
  context.out.handler = handleSelectByCompare;
}

void lowerCopysign(OpContext &context) { emitTyped(context, context.op.type() == "f64" ? LaneOp::CopysignF64 : LaneOp::CopysignF32, 2); }

void lowerTestProperty(OpContext &context) {
  static const std::string_view names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (unsigned i = 0; i < 6; ++i)
    if (context.op.has(names[i])) {
      unsigned bytes = bytesOf(context.op.type());
      context.out.d = context.lowering.destinationPredicate(context, context.ptx.operands[0]);
      context.out.a = context.lowering.source(context, 1, bytes, true);
      context.out.mode = static_cast<uint16_t>(i);
      context.out.size = static_cast<uint16_t>(bytes);
      context.out.handler = handleTestProperty;
    }
}

struct Comparison {
  std::string_view name;
  LaneOp u16, s16, u32, s32, u64, s64, f32, f64;
};
#define INTEGER_COMPARISON(name, Name) {name, LaneOp::Name##U16, LaneOp::Name##S16, LaneOp::Name##U32, LaneOp::Name##S32, LaneOp::Name##U64, LaneOp::Name##S64, LaneOp::Name##F32, LaneOp::Name##F64}
#define BIT_COMPARISON(name, Name) {name, LaneOp::Name##B16, LaneOp::Name##B16, LaneOp::Name##B32, LaneOp::Name##B32, LaneOp::Name##B64, LaneOp::Name##B64, LaneOp::Name##F32, LaneOp::Name##F64}
#define FLOAT_COMPARISON(name, Name) {name, LaneOp::Count, LaneOp::Count, LaneOp::Count, LaneOp::Count, LaneOp::Count, LaneOp::Count, LaneOp::Name##F32, LaneOp::Name##F64}
constexpr Comparison comparisons[] = {
    BIT_COMPARISON("eq", Eq), BIT_COMPARISON("ne", Ne), INTEGER_COMPARISON("lt", Lt), INTEGER_COMPARISON("le", Le),
    INTEGER_COMPARISON("gt", Gt), INTEGER_COMPARISON("ge", Ge),
    {"lo", LaneOp::LtU16, LaneOp::Count, LaneOp::LtU32, LaneOp::Count, LaneOp::LtU64, LaneOp::Count, LaneOp::Count, LaneOp::Count},
    {"ls", LaneOp::LeU16, LaneOp::Count, LaneOp::LeU32, LaneOp::Count, LaneOp::LeU64, LaneOp::Count, LaneOp::Count, LaneOp::Count},
    {"hi", LaneOp::GtU16, LaneOp::Count, LaneOp::GtU32, LaneOp::Count, LaneOp::GtU64, LaneOp::Count, LaneOp::Count, LaneOp::Count},
    {"hs", LaneOp::GeU16, LaneOp::Count, LaneOp::GeU32, LaneOp::Count, LaneOp::GeU64, LaneOp::Count, LaneOp::Count, LaneOp::Count},
    FLOAT_COMPARISON("equ", Equ), FLOAT_COMPARISON("neu", Neu), FLOAT_COMPARISON("ltu", Ltu), FLOAT_COMPARISON("leu", Leu),
    FLOAT_COMPARISON("gtu", Gtu), FLOAT_COMPARISON("geu", Geu), FLOAT_COMPARISON("num", Num), FLOAT_COMPARISON("nan", Nan)};

LaneOp comparisonFor(const Comparison &comparison, std::string_view type) {
  if (type == "f32")
    return comparison.f32;
  if (type == "f64")
    return comparison.f64;
  bool isSigned = type[0] == 's';
  switch (bytesOf(type)) {
  case 2:
    return isSigned ? comparison.s16 : comparison.u16;
  case 4:
    return isSigned ? comparison.s32 : comparison.u32;
  default:
    return isSigned ? comparison.s64 : comparison.u64;
  }
}

void lowerSetPredicate(OpContext &context) {
  Instr &out = context.out;
  Lowering &lowering = context.lowering;
  std::string_view type = context.op.type();
  unsigned bytes = bytesOf(type), index = 0;
  for (const Comparison &comparison : comparisons) {
    if (context.op.parts.size() < 2 || comparison.name != context.op.parts[1]) {
      ++index;
      continue;
    }
    out.d = lowering.destinationPredicate(context, context.ptx.operands[0]);
    out.extra = context.ptx.operands[0].reg2 >= 0 ? lowering.secondPredicate(context.ptx.operands[0]) : 0;
    out.a = lowering.source(context, 1, bytes, isFloatType(type));
    out.b = lowering.source(context, 2, bytes, isFloatType(type));
    if (context.op.has("and") || context.op.has("or") || context.op.has("xor")) {
      bool negated = false;
      out.c = lowering.sourcePredicate(context, 3, negated);
      out.mode = static_cast<uint16_t>((context.op.has("and") ? compareAnd : context.op.has("or") ? compareOr : compareXor) | (negated ? compareNegate : 0));
    }
    if (type == "f16" || type == "bf16") {
      out.imm = index;
      out.size = type == "bf16";
      out.handler = handleCompareHalf;
      return;
    }
    LaneOp op = comparisonFor(comparison, type);
    if (op == LaneOp::Count)
      return;
    if (type == "f32" && context.op.has("ftz"))
      op = static_cast<LaneOp>(static_cast<unsigned>(op) + 1); // COMPARE_FLOAT declares the pair
    out.handler = laneHandler(op);
    return;
  }
}

void lowerMov(OpContext &context) {
  Lowering &lowering = context.lowering;
  Instr &out = context.out;
  const Operand &d = context.ptx.operands[0], &a = context.ptx.operands[1];
  std::string_view type = context.op.type();
  unsigned bytes = bytesOf(type);
  if (type == "pred") {
    bool negated = false;
    out.d = lowering.destinationPredicate(context, d);
    out.a = lowering.sourcePredicate(context, 1, negated);
    out.mode = static_cast<uint16_t>(4 | (negated ? 16 : 0));
    out.handler = handlePredicateLogic;
    return;
  }
  if (d.kind == Operand::Kind::Vector || a.kind == Operand::Kind::Vector) {
    bool unpack = d.kind == Operand::Kind::Vector;
    const auto &elements = unpack ? d.elements : a.elements;
    if (elements.empty() || bytes % elements.size() || (unpack && a.kind == Operand::Kind::Vector))
      return lowering.fail(context.ptx, "expected 2 or 4 parts for " + std::string(context.op.text) + ", but got " + std::to_string(elements.size()));
    unsigned part = bytes / static_cast<unsigned>(elements.size());
    std::vector<uint32_t> slots;
    for (const Operand &element : elements)
      slots.push_back(unpack ? lowering.destination(context, element, part) : lowering.source(context, element, part));
    out.size = static_cast<uint16_t>(part);
    if (unpack)
      out.a = lowering.source(context, 1, bytes);
    else
      out.d = lowering.destination(context, 0, bytes);
    lowering.setList(out, slots);
    out.handler = unpack ? handleUnpack : handlePack;
    return;
  }
  if (a.kind == Operand::Kind::Special && (a.name.starts_with("%clock") || a.name.starts_with("%globaltimer"))) {
    out.d = lowering.destination(context, 0, bytes);
    out.size = static_cast<uint16_t>(bytes);
    out.handler = handleReadClock;
    return;
  }
  if (bytes == 2 || bytes == 4 || bytes == 8)
    emitTyped(context, bytes == 8 ? LaneOp::MovB64 : bytes == 4 ? LaneOp::MovB32 : LaneOp::MovB16, 1);
}

bool convertType(std::string_view type, ConvertType &kind) {
  static const std::pair<std::string_view, ConvertType> table[] = {
      {"u8", ConvertType::U8}, {"s8", ConvertType::S8}, {"u16", ConvertType::U16}, {"s16", ConvertType::S16},
      {"u32", ConvertType::U32}, {"s32", ConvertType::S32}, {"u64", ConvertType::U64}, {"s64", ConvertType::S64},
      {"f16", ConvertType::F16}, {"bf16", ConvertType::BF16}, {"f32", ConvertType::F32}, {"f64", ConvertType::F64}, {"tf32", ConvertType::TF32}};
  for (const auto &[name, value] : table)
    if (name == type) {
      kind = value;
      return true;
    }
  return false;
}

/// cvt to or from two packed values.
bool lowerConvertPair(OpContext &context) {
  std::string_view to = context.op.fromEnd(1), from = context.op.fromEnd(0);
  PairConversion kind;
  bool two = from == "f32";
  if (to == "bf16x2" && two)
    kind = PairConversion::BF16x2;
  else if (to == "f16x2" && two)
    kind = PairConversion::F16x2;
  else if (to == "e4m3x2" && (two || from == "f16x2"))
    kind = two ? PairConversion::E4M3x2 : PairConversion::E4M3x2FromF16x2;
  else if (to == "e5m2x2" && (two || from == "f16x2"))
    kind = two ? PairConversion::E5M2x2 : PairConversion::E5M2x2FromF16x2;
  else if (to == "f16x2" && (from == "e4m3x2" || from == "e5m2x2"))
    kind = from == "e4m3x2" ? PairConversion::F16x2FromE4M3x2 : PairConversion::F16x2FromE5M2x2;
  else
    return false;
  bool truncating = context.op.has("rz");
  if (truncating || (two && context.ptx.operands.size() != 3) || (!two && context.ptx.operands.size() != 2))
    return true; // refused
  context.out.d = context.lowering.destination(context, 0, to.starts_with("e") ? 2 : 4);
  context.out.a = context.lowering.source(context, 1, from.starts_with("e") ? 2 : 4, two);
  if (two)
    context.out.b = context.lowering.source(context, 2, 4, true);
  context.out.mode = static_cast<uint16_t>(static_cast<unsigned>(kind) | (context.op.has("relu") ? 256 : 0));
  context.out.handler = handleConvertPair;
  return true;
}

void lowerConvert(OpContext &context) {
  if (lowerConvertPair(context))
    return;
  const Opcode &op = context.op;
  ConvertType to, from;
  if (context.ptx.operands.size() != 2 || !convertType(op.fromEnd(1), to) || !convertType(op.fromEnd(0), from))
    return;
  Instr &out = context.out;
  unsigned toBytes = bytesOf(op.fromEnd(1)), fromBytes = bytesOf(op.fromEnd(0));
  out.d = context.lowering.destination(context, 0, toBytes, true);
  out.a = context.lowering.source(context, 1, fromBytes, isFloatType(op.fromEnd(0)), true);
  // Registers may be wider than the types.
  unsigned dRegister = context.lowering.registerBytes(context.ptx.operands[0]);
  unsigned aRegister = context.lowering.registerBytes(context.ptx.operands[1]);
  if (!dRegister)
    dRegister = std::max(toBytes, 4u);
  if (!aRegister)
    aRegister = fromBytes == 8 ? 8 : 4;
  if (!context.lowering.failed() && (dRegister < std::min(toBytes, 8u) || aRegister < std::min(fromBytes, 8u)))
    return context.lowering.fail(context.ptx, "expected registers at least as wide as the types of " + std::string(op.text) + ", but got a narrower one");
  unsigned round = op.has("rz") || op.has("rzi") ? 1 : op.has("rm") || op.has("rmi") ? 2 : op.has("rp") || op.has("rpi") ? 3 : op.has("rna") ? 4 : 0;
  bool toInteger = op.has("rzi") || op.has("rni") || op.has("rmi") || op.has("rpi");
  out.mode = static_cast<uint16_t>(static_cast<unsigned>(to) | static_cast<unsigned>(from) << 4 | round << convert::roundShift |
                                   (toInteger ? convert::toInteger : 0) | (op.has("ftz") ? convert::ftz : 0) |
                                   (op.has("sat") || op.has("satfinite") ? convert::sat : 0) | (op.has("relu") ? convert::relu : 0));
  out.size = static_cast<uint16_t>(dRegister | aRegister << 8);
  out.handler = handleConvert;
  bool plain = !op.has("sat") && dRegister == toBytes && aRegister == fromBytes;
  auto is = [&](std::string_view t, std::string_view f) { return plain && op.fromEnd(1) == t && op.fromEnd(0) == f; };
  if (is("u64", "u32") || is("s64", "u32"))
    out.handler = laneHandler(LaneOp::CvtU64U32);
  else if (is("s64", "s32") || is("u64", "s32"))
    out.handler = laneHandler(LaneOp::CvtS64S32);
  else if (is("u32", "u64") || is("s32", "s64") || is("u32", "s64") || is("s32", "u64"))
    out.handler = laneHandler(LaneOp::CvtU32U64);
  else if (is("u32", "u16") || is("s32", "u16"))
    out.handler = laneHandler(LaneOp::CvtU32U16);
  else if (is("s32", "s16") || is("u32", "s16"))
    out.handler = laneHandler(LaneOp::CvtS32S16);
  else if (is("f32", "s32") && round == 0)
    out.handler = laneHandler(LaneOp::CvtF32S32);
  else if (is("f32", "u32") && round == 0)
    out.handler = laneHandler(LaneOp::CvtF32U32);
}

void lowerSpecialFunction(OpContext &context) {
  std::string_view word = context.op.parts[0], type = context.op.type();
  const Opcode &op = context.op;
  bool ftz = op.has("ftz"), approx = op.has("approx");
  if (type == "f64") {
    if (roundingOf(op))
      return;
    if (word == "rcp" || word == "sqrt" || word == "rsqrt")
      emitTyped(context, word == "rcp" ? LaneOp::RcpF64 : word == "sqrt" ? LaneOp::SqrtF64 : LaneOp::RsqrtF64, 1);
    return;
  }
  if (type == "f32" && !approx && (word == "rcp" || word == "sqrt")) {
    if (roundingOf(op))
      return emitRounded(context, word == "rcp" ? 6 : 5, 1);
    return emitTyped(context, word == "rcp" ? (ftz ? LaneOp::RcpF32Ftz : LaneOp::RcpF32) : ftz ? LaneOp::SqrtF32Ftz : LaneOp::SqrtF32, 1);
  }
  SpecialFunction function = word == "ex2"     ? SpecialFunction::Ex2
                             : word == "lg2"   ? SpecialFunction::Lg2
                             : word == "rcp"   ? SpecialFunction::Rcp
                             : word == "rsqrt" ? SpecialFunction::Rsqrt
                             : word == "sqrt"  ? SpecialFunction::Sqrt
                             : word == "tanh"  ? SpecialFunction::Tanh
                             : word == "sin"   ? SpecialFunction::Sin
                                               : SpecialFunction::Cos;
  emitTyped(context, LaneOp::MovB32, 1);
  context.out.mode = static_cast<uint16_t>(static_cast<unsigned>(function) | (ftz ? 256 : 0) | (type.starts_with("bf16") ? 512 : 0) | (type.ends_with("x2") ? 1024 : 0));
  context.out.handler = type == "f32" ? handleSpecialFunction : handleSpecialFunctionHalf;
}

constexpr OpPattern patterns[] = {
    {"add", "@int @float rn rz rm rp ftz sat cc", "daa", lowerAdd},
    {"sub", "@int @float rn rz rm rp ftz sat cc", "daa", lowerSub},
    {"addc", "cc u32 s32 u64 s64", "daa", lowerAddCarry},
    {"subc", "cc u32 s32 u64 s64", "daa", lowerSubCarry},
    {"mul", "@int @float lo hi wide rn rz rm rp ftz sat", "daa", lowerMul},
    {"fma", "@float rn rz rm rp ftz sat relu", "daaa", lowerFma},
    {"mad", "@int f32 f64 lo hi wide rn rz rm rp ftz sat cc", "daaa", lowerMad},
    {"madc", "cc lo hi u32 s32 u64 s64", "daaa", lowerMadCarry},
    {"div", "@int f32 f64 rn rz rm rp approx full ftz", "daa", lowerDiv},
    {"rem", "@int", "daa", lowerRem},
    {"neg", "@int @float ftz", "da", lowerNeg},
    {"abs", "@int @float ftz", "da", lowerAbs},
    {"min", "@int @float ftz NaN relu", "daa", lowerMinMax},
    {"max", "@int @float ftz NaN relu", "daa", lowerMinMax},
    {"sad", "u32 s32", "daaa", lowerSad},
    {"shl", "@bits", "daa", lowerShift},
    {"shr", "@bits @int", "daa", lowerShift},
    {"shf", "l r clamp wrap b32", "daaa", lowerFunnel},
    {"popc", "@bits", "da", lowerBitCount},
    {"clz", "@bits", "da", lowerBitCount},
    {"brev", "@bits", "da", lowerBitCount},
    {"bfind", "shiftamt u32 s32 u64 s64", "da", lowerBitCount},
    {"bfe", "u32 s32 u64 s64", "daaa", lowerBitField},
    {"bfi", "b32 b64", "daaaa", lowerBitField},
    {"prmt", "b32 f4e b4e rc8 ecl ecr rc16", "daaa", lowerPermute},
    {"lop3", "b32", "daaai", lowerLogic3},
    {"dp4a", "u32 s32", "daaa", lowerDotBytes},
    {"slct", "@bits @int f32 f64 ftz", "daaa", lowerSelectByCompare},
    {"copysign", "f32 f64", "daa", lowerCopysign},
    {"mov", "@bits @int f32 f64 f16 bf16 pred", "Vv", lowerMov},
    {"cvt", "@int @float u8 s8 tf32 e4m3x2 e5m2x2 rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu", "da?a", lowerConvert},
    {"ex2", "approx ftz f32 f16 f16x2 bf16 bf16x2", "da", lowerSpecialFunction},
    {"lg2", "approx ftz f32", "da", lowerSpecialFunction},
    {"rcp", "approx ftz rn rz rm rp f32 f64", "da", lowerSpecialFunction},
    {"rsqrt", "approx ftz f32 f64", "da", lowerSpecialFunction},
    {"sqrt", "approx ftz rn rz rm rp f32 f64", "da", lowerSpecialFunction},
    {"tanh", "approx f32 f16 f16x2 bf16 bf16x2", "da", lowerSpecialFunction},
    {"sin", "approx ftz f32", "da", lowerSpecialFunction},
    {"cos", "approx ftz f32", "da", lowerSpecialFunction},
    {"and", "@bits pred", "d**", lowerLogic},
    {"or", "@bits pred", "d**", lowerLogic},
    {"xor", "@bits pred", "d**", lowerLogic},
    {"not", "@bits pred", "d*", lowerLogic},
    {"cnot", "@bits", "da", lowerLogic},
    {"selp", "@bits @int f32 f64 f16 bf16", "daaq", lowerSelect},
    {"setp", "@bits @int f32 f64 f16 bf16 ftz eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor", "paa?q", lowerSetPredicate},
    {"testp", "finite infinite number notanumber normal subnormal f32 f64", "pa", lowerTestProperty},
};

} // namespace

std::span<const OpPattern> scalarPatterns() { return patterns; }

} // namespace fa::runtime::emulator
