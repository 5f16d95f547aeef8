// wgmma, mma.sync and bulk copies (TMA).
#include "Handlers.h"
#include "Lowering.h"
#include <charconv>

namespace fa::runtime::emulator {
namespace {

using ptx::Operand;

bool mmaType(std::string_view name, MmaType &type) {
  static const std::pair<std::string_view, MmaType> table[] = {{"f16", MmaType::F16},
                                                               {"bf16", MmaType::BF16},
                                                               {"tf32", MmaType::TF32},
                                                               {"e4m3", MmaType::E4M3},
                                                               {"e5m2", MmaType::E5M2}};
  for (const auto &[spelling, value] : table)
    if (spelling == name) {
      type = value;
      return true;
    }
  return false;
}

/// `m64n128k16` to its three numbers.
bool parseShape(std::string_view text, unsigned &m, unsigned &n, unsigned &k) {
  auto number = [&](char letter, unsigned &value) {
    if (text.empty() || text[0] != letter)
      return false;
    auto result = std::from_chars(text.data() + 1, text.data() + text.size(), value);
    if (result.ec != std::errc())
      return false;
    text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
    return true;
  };
  return number('m', m) && number('n', n) && number('k', k) && text.empty();
}

std::vector<uint32_t> registerList(OpContext &context, const Operand &operand, size_t expected, bool isDestination) {
  std::vector<uint32_t> slots;
  size_t count = operand.kind == Operand::Kind::Vector ? operand.elements.size() : 1;
  if (count != expected) {
    context.lowering.fail(context.ptx, "expected " + std::to_string(expected) + " registers in a fragment of " +
                                           std::string(context.op.text) + ", but got " + std::to_string(count));
    return slots;
  }
  for (size_t i = 0; i < count; ++i) {
    const Operand &element = operand.kind == Operand::Kind::Vector ? operand.elements[i] : operand;
    slots.push_back(isDestination ? context.lowering.destination(context, element, 4)
                                  : context.lowering.source(context, element, 4, true));
  }
  return slots;
}

bool signImmediate(OpContext &context, size_t index, bool &negative) {
  int64_t value = 0;
  if (!context.lowering.immediate(context, index, value))
    return false;
  if (value != 1 && value != -1) {
    context.lowering.fail(context.ptx, "expected 1 or -1 as scale of " + std::string(context.op.text) + ", but got " +
                                           std::to_string(value));
    return false;
  }
  negative = value == -1;
  return true;
}

bool majorImmediate(OpContext &context, size_t index, Major &major) {
  int64_t value = 0;
  if (!context.lowering.immediate(context, index, value))
    return false;
  if (value != 0 && value != 1) {
    context.lowering.fail(context.ptx, "expected 0 or 1 as transposition of " + std::string(context.op.text) +
                                           ", but got " + std::to_string(value));
    return false;
  }
  major = value ? Major::MN : Major::K;
  return true;
}

bool wgmmaShape(OpContext &context, WgmmaShape &shape) {
  const Opcode &op = context.op;
  unsigned m = 0, n = 0, k = 0;
  bool known = op.parts.size() == 8 && op.parts[2] == "sync" && op.parts[3] == "aligned" &&
               parseShape(op.parts[4], m, n, k) && mmaType(op.parts[6], shape.aType) &&
               mmaType(op.parts[7], shape.bType) && (op.parts[5] == "f32" || op.parts[5] == "f16");
  if (!known || m != 64 || k * sizeOf(shape.aType) != 32) {
    context.lowering.fail(context.ptx, "expected wgmma.mma_async.sync.aligned.m64nNkK.{f32,f16}.type.type, but got " +
                                           std::string(op.text));
    return false;
  }
  shape.n = n;
  shape.accumulator = op.parts[5] == "f32" ? Accumulator::F32 : Accumulator::F16;
  if (Status status = verify(shape); !status) {
    context.lowering.fail(context.ptx, status.message());
    return false;
  }
  return true;
}

void lowerWgmma(OpContext &context) {
  Lowering &lowering = context.lowering;
  WgmmaInfo info;
  if (!wgmmaShape(context, info.shape))
    return;
  const auto &operands = context.ptx.operands;
  info.aInRegisters = operands[1].kind == Operand::Kind::Vector;
  bool transposes = sizeOf(info.shape.aType) == 2;
  size_t expected = 6 + (transposes ? (info.aInRegisters ? 1 : 2) : 0);
  if (operands.size() != expected)
    return lowering.fail(context.ptx, "expected " + std::to_string(expected) + " operands for " +
                                          std::string(context.op.text) + ", but got " +
                                          std::to_string(operands.size()));
  info.d = registerList(context, operands[0], accumulatorRegisters(info.shape), true);
  if (info.aInRegisters)
    info.a = registerList(context, operands[1], 4, false);
  else
    info.descriptorA = lowering.source(context, 1, 8);
  info.descriptorB = lowering.source(context, 2, 8);
  info.dRegisters = lowering.tensorNumbers(operands[0]);
  info.aRegisters = lowering.tensorNumbers(operands[1]);
  uint16_t sets = 0;
  for (const WgmmaInfo &other : lowering.kernel.wgmma) {
    if (other.dRegisters == info.dRegisters)
      info.accumulator = other.accumulator;
    sets = std::max(sets, other.accumulator);
  }
  if (!info.accumulator)
    info.accumulator = static_cast<uint16_t>(sets + 1);
  bool negated = false;
  info.scaleD = lowering.sourcePredicate(context, 3, negated);
  if (negated)
    return lowering.fail(context.ptx, "expected a plain predicate as scale-d, but got a negated one");
  if (!signImmediate(context, 4, info.shape.negateA) || !signImmediate(context, 5, info.shape.negateB))
    return;
  if (transposes) {
    if (!info.aInRegisters && !majorImmediate(context, 6, info.aMajor))
      return;
    if (!majorImmediate(context, expected - 1, info.bMajor))
      return;
  }
  context.out.extra = static_cast<uint32_t>(lowering.kernel.wgmma.size());
  lowering.kernel.wgmma.push_back(std::move(info));
  context.out.flags |= flag::Aligned;
  context.out.handler = handleWgmma;
}

void lowerWgmmaFence(OpContext &context) {
  context.out.flags |= flag::Aligned;
  context.out.handler = handleWgmmaFence;
}
void lowerWgmmaCommit(OpContext &context) {
  context.out.flags |= flag::Aligned;
  context.out.handler = handleWgmmaCommit;
}
void lowerWgmmaWait(OpContext &context) {
  context.lowering.immediate(context, 0, context.out.imm);
  context.out.flags |= flag::Aligned;
  context.out.handler = handleWgmmaWait;
}

void lowerMma(OpContext &context) {
  const Opcode &op = context.op;
  MmaInfo info;
  unsigned m = 0, n = 0, k = 0;
  // mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  bool known = op.parts.size() == 10 && op.parts[1] == "sync" && op.parts[2] == "aligned" &&
               parseShape(op.parts[3], m, n, k) && op.parts[4] == "row" && op.parts[5] == "col" &&
               mmaType(op.parts[7], info.shape.aType) && mmaType(op.parts[8], info.shape.bType) &&
               op.parts[6] == op.parts[9] && (op.parts[6] == "f32" || op.parts[6] == "f16") && m == 16 && n == 8;
  if (!known)
    return context.lowering.fail(context.ptx,
                                 "expected mma.sync.aligned.m16n8kK.row.col with f32 or f16 accumulators, but got " +
                                     std::string(op.text));
  info.shape.k = k;
  info.shape.accumulator = op.parts[6] == "f32" ? Accumulator::F32 : Accumulator::F16;
  if (Status status = verify(info.shape); !status)
    return context.lowering.fail(context.ptx, status.message());
  const auto &operands = context.ptx.operands;
  info.d = registerList(context, operands[0], accumulatorRegisters(info.shape), true);
  info.a = registerList(context, operands[1], operandARegisters(info.shape), false);
  info.b = registerList(context, operands[2], operandBRegisters(info.shape), false);
  info.c = registerList(context, operands[3], accumulatorRegisters(info.shape), false);
  context.out.extra = static_cast<uint32_t>(context.lowering.kernel.mma.size());
  context.lowering.kernel.mma.push_back(std::move(info));
  context.out.flags |= flag::Aligned;
  context.out.handler = handleMma;
}

bool reductionOf(const Opcode &op, Reduction &reduction) {
  static const std::pair<std::string_view, Reduction> table[] = {
      {"add", Reduction::Add}, {"min", Reduction::Min}, {"max", Reduction::Max}, {"inc", Reduction::Inc},
      {"dec", Reduction::Dec}, {"and", Reduction::And}, {"or", Reduction::Or},   {"xor", Reduction::Xor}};
  for (const auto &[name, value] : table)
    if (op.has(name)) {
      reduction = value;
      return true;
    }
  return false;
}

bool isToGlobal(const Opcode &op) {
  // The destination space is the first of the two that are named.
  for (std::string_view part : op.parts) {
    if (part == "global")
      return true;
    if (part.starts_with("shared"))
      return false;
  }
  return false;
}

void finishBulk(OpContext &context, BulkInfo info) {
  context.out.extra = static_cast<uint32_t>(context.lowering.kernel.bulk.size());
  context.lowering.kernel.bulk.push_back(std::move(info));
  context.out.handler = handleBulk;
}

void lowerBulkTensor(OpContext &context) {
  const Opcode &op = context.op;
  Lowering &lowering = context.lowering;
  const auto &operands = context.ptx.operands;
  BulkInfo info;
  for (unsigned rank = 1; rank <= 5; ++rank)
    if (op.has(std::string(1, static_cast<char>('0' + rank)) + "d"))
      info.rank = rank;
  bool store = isToGlobal(op), reduce = op.parts[1] == "reduce";
  size_t mapIndex = store ? 0 : 1, sharedIndex = store ? 1 : 0;
  if (!info.rank || operands.size() < (store ? 2u : 3u) || operands[mapIndex].kind != Operand::Kind::Address ||
      operands[mapIndex].elements.size() != 2 || operands[sharedIndex].kind != Operand::Kind::Address ||
      operands[sharedIndex].elements.size() != 1 || (!store && operands[2].kind != Operand::Kind::Address))
    return lowering.fail(context.ptx,
                         "expected [dst], [map, {coordinates}], [mbar] or [map, {coordinates}], [src] for " +
                             std::string(op.text) + ", but got other operands");
  if (reduce && !reductionOf(op, info.reduction))
    return;
  info.kind = !store ? BulkInfo::Kind::TensorLoad : reduce ? BulkInfo::Kind::TensorReduce : BulkInfo::Kind::TensorStore;
  if (!store && !op.has("mbarrier::complete_tx::bytes"))
    return;
  info.global = lowering.address(context, operands[mapIndex], "tensor map");
  info.shared = lowering.address(context, operands[sharedIndex], "shared");
  const Operand &coordinates = operands[mapIndex].elements[1];
  if (coordinates.elements.size() != info.rank)
    return lowering.fail(context.ptx, "expected " + std::to_string(info.rank) + " coordinates for " +
                                          std::string(op.text) + ", but got " +
                                          std::to_string(coordinates.elements.size()));
  for (const Operand &element : coordinates.elements)
    info.coordinates.push_back(lowering.source(context, element, 4));
  size_t next = store ? 2 : 3;
  if (!store)
    info.mbarrier = lowering.address(context, operands[2], "mbarrier");
  if (op.has("multicast::cluster")) {
    if (operands.size() <= next)
      return lowering.fail(context.ptx, "expected a CTA mask for " + std::string(op.text) + ", but got none");
    info.multicast = true;
    info.multicastMask = lowering.source(context, next++, 2);
  }
  if (operands.size() != next + (op.has("L2::cache_hint") ? 1 : 0))
    return lowering.fail(context.ptx, "expected " + std::to_string(next + (op.has("L2::cache_hint") ? 1 : 0)) +
                                          " operands for " + std::string(op.text) + ", but got " +
                                          std::to_string(operands.size()));
  finishBulk(context, std::move(info));
}

bool bulkType(std::string_view name, TensorMapType &type) {
  static const std::pair<std::string_view, TensorMapType> table[] = {
      {"u32", TensorMapType::U32}, {"s32", TensorMapType::S32}, {"u64", TensorMapType::U64},
      {"s64", TensorMapType::S64}, {"f16", TensorMapType::F16}, {"bf16", TensorMapType::BF16},
      {"f32", TensorMapType::F32}, {"f64", TensorMapType::F64}, {"b32", TensorMapType::U32},
      {"b64", TensorMapType::U64}};
  for (const auto &[spelling, value] : table)
    if (spelling == name) {
      type = value;
      return true;
    }
  return false;
}

void lowerBulk(OpContext &context) {
  const Opcode &op = context.op;
  Lowering &lowering = context.lowering;
  const auto &operands = context.ptx.operands;
  bool store = isToGlobal(op), reduce = op.parts[1] == "reduce", completes = op.has("mbarrier::complete_tx::bytes");
  bool remote = !store && op.has("shared::cluster") && op.has("shared::cta") && completes;
  BulkInfo info;
  if (reduce && (remote || !store || !reductionOf(op, info.reduction) || !bulkType(op.type(), info.type)))
    return;
  info.kind = remote   ? BulkInfo::Kind::SharedToCluster
              : reduce ? BulkInfo::Kind::Reduce
              : store  ? BulkInfo::Kind::Store
                       : BulkInfo::Kind::Load;
  if (!store && !completes)
    return;
  size_t next = store ? 3 : 4;
  bool shape = operands.size() >= next && operands[0].kind == Operand::Kind::Address &&
               operands[1].kind == Operand::Kind::Address && (store || operands[3].kind == Operand::Kind::Address);
  if (!shape)
    return lowering.fail(context.ptx, "expected [dst], [src], size" + std::string(store ? "" : ", [mbar]") + " for " +
                                          std::string(op.text) + ", but got other operands");
  info.shared = lowering.address(context, operands[store ? 1 : 0], "shared");
  info.global = lowering.address(context, operands[store ? 0 : 1], "global");
  info.bytes = lowering.source(context, 2, 4);
  if (!store)
    info.mbarrier = lowering.address(context, operands[3], "mbarrier");
  if (op.has("multicast::cluster") && operands.size() > next) {
    info.multicast = true;
    info.multicastMask = lowering.source(context, next, 2);
  }
  finishBulk(context, std::move(info));
}

void lowerBulkCommit(OpContext &context) { context.out.handler = handleBulkCommit; }
void lowerBulkWait(OpContext &context) {
  context.lowering.immediate(context, 0, context.out.imm);
  context.out.mode = context.op.has("read");
  context.out.handler = handleBulkWait;
}
void lowerPrefetch(OpContext &context) { context.out.handler = handleNothing; }

constexpr std::string_view bulkWords = "1d 2d 3d 4d 5d shared::cluster shared::cta global tile "
                                       "mbarrier::complete_tx::bytes bulk_group multicast::cluster L2::cache_hint "
                                       "add min max inc dec and or xor noftz u32 s32 u64 s64 b32 b64 f16 bf16 f32 f64";

constexpr OpPattern patterns[] = {
    {"wgmma.mma_async", "*", "R*aqii?ii", lowerWgmma},
    {"wgmma.fence", "sync aligned", "", lowerWgmmaFence},
    {"wgmma.commit_group", "sync aligned", "", lowerWgmmaCommit},
    {"wgmma.wait_group", "sync aligned", "i", lowerWgmmaWait},
    {"mma", "*", "Vvvv", lowerMma},
    {"cp.async.bulk.tensor", bulkWords, "**?***", lowerBulkTensor},
    {"cp.reduce.async.bulk.tensor", bulkWords, "**?***", lowerBulkTensor},
    {"cp.async.bulk", bulkWords, "mm*?***", lowerBulk},
    {"cp.reduce.async.bulk", bulkWords, "mm*?***", lowerBulk},
    {"cp.async.bulk.commit_group", "", "", lowerBulkCommit},
    {"cp.async.bulk.wait_group", "read", "i", lowerBulkWait},
    {"cp.async.bulk.prefetch", "L2 global tensor tile 1d 2d 3d 4d 5d L2::cache_hint", "*?**", lowerPrefetch},
};

} // namespace

std::span<const OpPattern> tensorPatterns() { return patterns; }

} // namespace fa::runtime::emulator
