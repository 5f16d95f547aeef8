// mov and cvt.
#include "LowerScalar.h"

namespace fa::runtime::emulator {
namespace {

using namespace scalar;
using ptx::Operand;

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
      return lowering.fail(context.ptx, "expected 2 or 4 parts for " + std::string(context.op.text) + ", but got " +
                                            std::to_string(elements.size()));
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
      {"u8", ConvertType::U8},    {"s8", ConvertType::S8},     {"u16", ConvertType::U16}, {"s16", ConvertType::S16},
      {"u32", ConvertType::U32},  {"s32", ConvertType::S32},   {"u64", ConvertType::U64}, {"s64", ConvertType::S64},
      {"f16", ConvertType::F16},  {"bf16", ConvertType::BF16}, {"f32", ConvertType::F32}, {"f64", ConvertType::F64},
      {"tf32", ConvertType::TF32}};
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
    return context.lowering.fail(context.ptx, "expected registers at least as wide as the types of " +
                                                  std::string(op.text) + ", but got a narrower one");
  unsigned round = op.has("rz") || op.has("rzi")   ? 1
                   : op.has("rm") || op.has("rmi") ? 2
                   : op.has("rp") || op.has("rpi") ? 3
                   : op.has("rna")                 ? 4
                                                   : 0;
  bool toInteger = op.has("rzi") || op.has("rni") || op.has("rmi") || op.has("rpi");
  out.mode = static_cast<uint16_t>(
      static_cast<unsigned>(to) | static_cast<unsigned>(from) << 4 | round << convert::roundShift |
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

constexpr OpPattern patterns[] = {
    {"mov", "@bits @int f32 f64 f16 bf16 pred", "Vv", lowerMov},
    {"cvt", "@int @float u8 s8 tf32 e4m3x2 e5m2x2 rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu", "da?a",
     lowerConvert},
};

} // namespace

std::span<const OpPattern> conversionPatterns() { return patterns; }

} // namespace fa::runtime::emulator
