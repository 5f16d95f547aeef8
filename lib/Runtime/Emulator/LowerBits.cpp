// Logic, shifts, bit fields, comparisons and selections.
#include "LowerScalar.h"

namespace fa::runtime::emulator {
namespace {

using namespace scalar;
using ptx::Operand;

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
  bool found =
      word == "and"   ? pick(context, {{"b16", LaneOp::AndB16}, {"b32", LaneOp::AndB32}, {"b64", LaneOp::AndB64}}, op)
      : word == "or"  ? pick(context, {{"b16", LaneOp::OrB16}, {"b32", LaneOp::OrB32}, {"b64", LaneOp::OrB64}}, op)
      : word == "xor" ? pick(context, {{"b16", LaneOp::XorB16}, {"b32", LaneOp::XorB32}, {"b64", LaneOp::XorB64}}, op)
      : word == "not"
          ? pick(context, {{"b16", LaneOp::NotB16}, {"b32", LaneOp::NotB32}, {"b64", LaneOp::NotB64}}, op)
          : pick(context, {{"b16", LaneOp::CNotB16}, {"b32", LaneOp::CNotB32}, {"b64", LaneOp::CNotB64}}, op);
  if (found)
    emitTyped(context, op, word == "not" || word == "cnot" ? 1 : 2);
}

void lowerShift(OpContext &context) {
  LaneOp op;
  bool left = context.op.parts[0] == "shl";
  bool found = left ? pick(context, {{"b16", LaneOp::ShlB16}, {"b32", LaneOp::ShlB32}, {"b64", LaneOp::ShlB64}}, op)
                    : pick(context,
                           {{"u16", LaneOp::ShrU16},
                            {"b16", LaneOp::ShrU16},
                            {"s16", LaneOp::ShrS16},
                            {"u32", LaneOp::ShrU32},
                            {"b32", LaneOp::ShrU32},
                            {"s32", LaneOp::ShrS32},
                            {"u64", LaneOp::ShrU64},
                            {"b64", LaneOp::ShrU64},
                            {"s64", LaneOp::ShrS64}},
                           op);
  unsigned bytes = bytesOf(context.op.type());
  if (found)
    emit(context, op, bytes, {bytes, 4});
}

void lowerFunnel(OpContext &context) {
  bool left = context.op.has("l"), clamp = context.op.has("clamp");
  emit(context,
       left    ? (clamp ? LaneOp::ShfLClamp : LaneOp::ShfLWrap)
       : clamp ? LaneOp::ShfRClamp
               : LaneOp::ShfRWrap,
       4, {4, 4, 4});
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
    if (pick(context,
             {{"u32", shift ? LaneOp::BfindShiftU32 : LaneOp::BfindU32},
              {"s32", shift ? LaneOp::BfindShiftS32 : LaneOp::BfindS32},
              {"u64", shift ? LaneOp::BfindShiftU64 : LaneOp::BfindU64},
              {"s64", shift ? LaneOp::BfindShiftS64 : LaneOp::BfindS64}},
             op))
      emit(context, op, 4, {bytes});
  }
}

void lowerBitField(OpContext &context) {
  LaneOp op;
  unsigned bytes = bytesOf(context.op.type());
  if (context.op.parts[0] == "bfe") {
    if (pick(context,
             {{"u32", LaneOp::BfeU32}, {"s32", LaneOp::BfeS32}, {"u64", LaneOp::BfeU64}, {"s64", LaneOp::BfeS64}}, op))
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
  emit(context,
       sa   ? (sb ? LaneOp::Dp4aS32S32 : LaneOp::Dp4aS32U32)
       : sb ? LaneOp::Dp4aU32S32
            : LaneOp::Dp4aU32U32,
       4, {4, 4, 4});
}

void lowerSelect(OpContext &context) {
  unsigned bytes = bytesOf(context.op.type());
  bool negated = false;
  emit(context,
       bytes == 8   ? LaneOp::Select64
       : bytes == 4 ? LaneOp::Select32
                    : LaneOp::Select16,
       bytes, {bytes, bytes}, isFloatType(context.op.type()));
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
#define INTEGER_COMPARISON(name, Name)                                                                                 \
  {name,                                                                                                               \
   LaneOp::Name##U16,                                                                                                  \
   LaneOp::Name##S16,                                                                                                  \
   LaneOp::Name##U32,                                                                                                  \
   LaneOp::Name##S32,                                                                                                  \
   LaneOp::Name##U64,                                                                                                  \
   LaneOp::Name##S64,                                                                                                  \
   LaneOp::Name##F32,                                                                                                  \
   LaneOp::Name##F64}
#define BIT_COMPARISON(name, Name)                                                                                     \
  {name,                                                                                                               \
   LaneOp::Name##B16,                                                                                                  \
   LaneOp::Name##B16,                                                                                                  \
   LaneOp::Name##B32,                                                                                                  \
   LaneOp::Name##B32,                                                                                                  \
   LaneOp::Name##B64,                                                                                                  \
   LaneOp::Name##B64,                                                                                                  \
   LaneOp::Name##F32,                                                                                                  \
   LaneOp::Name##F64}
#define FLOAT_COMPARISON(name, Name)                                                                                   \
  {name,          LaneOp::Count, LaneOp::Count,     LaneOp::Count,    LaneOp::Count,                                   \
   LaneOp::Count, LaneOp::Count, LaneOp::Name##F32, LaneOp::Name##F64}
constexpr Comparison comparisons[] = {BIT_COMPARISON("eq", Eq),
                                      BIT_COMPARISON("ne", Ne),
                                      INTEGER_COMPARISON("lt", Lt),
                                      INTEGER_COMPARISON("le", Le),
                                      INTEGER_COMPARISON("gt", Gt),
                                      INTEGER_COMPARISON("ge", Ge),
                                      {"lo", LaneOp::LtU16, LaneOp::Count, LaneOp::LtU32, LaneOp::Count, LaneOp::LtU64,
                                       LaneOp::Count, LaneOp::Count, LaneOp::Count},
                                      {"ls", LaneOp::LeU16, LaneOp::Count, LaneOp::LeU32, LaneOp::Count, LaneOp::LeU64,
                                       LaneOp::Count, LaneOp::Count, LaneOp::Count},
                                      {"hi", LaneOp::GtU16, LaneOp::Count, LaneOp::GtU32, LaneOp::Count, LaneOp::GtU64,
                                       LaneOp::Count, LaneOp::Count, LaneOp::Count},
                                      {"hs", LaneOp::GeU16, LaneOp::Count, LaneOp::GeU32, LaneOp::Count, LaneOp::GeU64,
                                       LaneOp::Count, LaneOp::Count, LaneOp::Count},
                                      FLOAT_COMPARISON("equ", Equ),
                                      FLOAT_COMPARISON("neu", Neu),
                                      FLOAT_COMPARISON("ltu", Ltu),
                                      FLOAT_COMPARISON("leu", Leu),
                                      FLOAT_COMPARISON("gtu", Gtu),
                                      FLOAT_COMPARISON("geu", Geu),
                                      FLOAT_COMPARISON("num", Num),
                                      FLOAT_COMPARISON("nan", Nan)};

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
      out.mode = static_cast<uint16_t>((context.op.has("and")  ? compareAnd
                                        : context.op.has("or") ? compareOr
                                                               : compareXor) |
                                       (negated ? compareNegate : 0));
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

constexpr OpPattern patterns[] = {
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
    {"and", "@bits pred", "d**", lowerLogic},
    {"or", "@bits pred", "d**", lowerLogic},
    {"xor", "@bits pred", "d**", lowerLogic},
    {"not", "@bits pred", "d*", lowerLogic},
    {"cnot", "@bits", "da", lowerLogic},
    {"selp", "@bits @int f32 f64 f16 bf16", "daaq", lowerSelect},
    {"setp", "@bits @int f32 f64 f16 bf16 ftz eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor",
     "paa?q", lowerSetPredicate},
    {"testp", "finite infinite number notanumber normal subnormal f32 f64", "pa", lowerTestProperty},
};

} // namespace

std::span<const OpPattern> bitPatterns() { return patterns; }

} // namespace fa::runtime::emulator
