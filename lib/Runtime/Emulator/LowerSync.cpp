// Barriers, fences, mbarriers, setmaxnreg.
#include "Handlers.h"
#include "Lowering.h"
#include "SyncModes.h"

namespace fa::runtime::emulator {
namespace {

void lowerBarrier(OpContext &context) {
  const Opcode &op = context.op;
  Instr &out = context.out;
  bool arrive = op.has("arrive"), aligned = op.parts[0] == "bar" || op.has("aligned");
  out.a = context.lowering.source(context, 0, 4);
  if (context.ptx.operands.size() > 1) {
    out.b = context.lowering.source(context, 1, 4);
    out.mode |= barrier::hasCount;
  } else if (arrive) {
    return context.lowering.fail(context.ptx, "expected a thread count for " + std::string(op.text) + ", but got none");
  }
  out.mode |= static_cast<uint16_t>((arrive ? barrier::arriveOnly : 0) | (aligned ? 0 : barrier::unaligned));
  out.flags |= aligned ? flag::Aligned : 0;
  out.handler = handleBarrier;
}

void lowerBarrierReduce(OpContext &context) {
  const Opcode &op = context.op;
  Instr &out = context.out;
  bool popc = op.has("popc"), aligned = op.parts[0] == "bar" || op.has("aligned");
  size_t last = context.ptx.operands.size() - 1;
  bool negated = false;
  if (popc)
    out.d = context.lowering.destination(context, 0, 4);
  else
    out.extra = context.lowering.destinationPredicate(context, context.ptx.operands[0]);
  out.a = context.lowering.source(context, 1, 4);
  if (last == 3) {
    out.b = context.lowering.source(context, 2, 4);
    out.mode |= barrier::hasCount;
  }
  out.c = context.lowering.sourcePredicate(context, last, negated);
  out.mode |= static_cast<uint16_t>((negated ? barrier::negate : 0) | (aligned ? 0 : barrier::unaligned));
  out.imm = popc ? 0 : op.has("and") ? 1 : 2;
  out.flags |= aligned ? flag::Aligned : 0;
  out.handler = handleBarrierReduce;
}

void lowerClusterArrive(OpContext &context) {
  context.out.mode = context.op.has("relaxed");
  context.out.flags |= context.op.has("aligned") ? flag::Aligned : 0;
  context.out.handler = handleClusterArrive;
}
void lowerClusterWait(OpContext &context) {
  context.out.flags |= context.op.has("aligned") ? flag::Aligned : 0;
  context.out.handler = handleClusterWait;
}
void lowerFence(OpContext &context) { context.out.handler = handleFence; }
void lowerMbarrierInitFence(OpContext &context) { context.out.handler = handleMbarrierInitFence; }
void lowerProxyFence(OpContext &context) {
  context.out.handler = context.op.text.starts_with("fence.proxy.async") ? handleProxyFence : handleFence;
}

uint16_t mbarrierMode(OpContext &context, size_t index) {
  const Opcode &op = context.op;
  AddressRef address = context.lowering.address(context, index, "mbarrier");
  context.out.a = address.slot;
  context.out.imm = address.offset;
  return static_cast<uint16_t>((address.wide ? mbarrier::wideAddress : 0) | (op.has("parity") ? mbarrier::parity : 0) |
                               (op.has("relaxed") ? mbarrier::relaxed : 0) |
                               (op.has("expect_tx") ? mbarrier::expect : 0) |
                               (op.text.starts_with("mbarrier.arrive_drop") ? mbarrier::drop : 0) |
                               (op.text.starts_with("mbarrier.try_wait") ? mbarrier::mayFail : 0));
}

void lowerMbarrierInit(OpContext &context) {
  context.out.mode = mbarrierMode(context, 0);
  context.out.b = context.lowering.source(context, 1, 4);
  context.out.handler = handleMbarrierInit;
}
void lowerMbarrierInvalidate(OpContext &context) {
  context.out.mode = mbarrierMode(context, 0);
  context.out.handler = handleMbarrierInvalidate;
}
void lowerMbarrierExpect(OpContext &context) {
  context.out.mode = mbarrierMode(context, 0);
  context.out.b = context.lowering.source(context, 1, 4);
  context.out.size = context.op.text.starts_with("mbarrier.complete_tx");
  context.out.handler = handleMbarrierExpect;
}
void lowerMbarrierArrive(OpContext &context) {
  // The state may be left out in the shared::cluster form: `arrive [a]`.
  size_t at = context.ptx.operands[0].kind == ptx::Operand::Kind::Address ? 0 : 1;
  if (at >= context.ptx.operands.size() || context.ptx.operands[at].kind != ptx::Operand::Kind::Address)
    return context.lowering.fail(context.ptx,
                                 "expected an mbarrier address for " + std::string(context.op.text) + ", but got none");
  Instr &out = context.out;
  out.mode = mbarrierMode(context, at);
  if (at == 1 && context.ptx.operands[0].kind == ptx::Operand::Kind::Register) {
    out.d = context.lowering.destination(context, 0, 8);
    out.mode |= mbarrier::hasState;
  } else if (at == 1 && context.ptx.operands[0].kind != ptx::Operand::Kind::Sink) {
    return context.lowering.fail(context.ptx, "expected a register or `_` as state of " + std::string(context.op.text) +
                                                  ", but got something else");
  }
  if (context.ptx.operands.size() > at + 1) {
    out.b = context.lowering.source(context, at + 1, 4);
    out.mode |= mbarrier::hasCount;
  } else if (out.mode & mbarrier::expect) {
    return context.lowering.fail(context.ptx,
                                 "expected a transaction count for " + std::string(context.op.text) + ", but got none");
  }
  out.handler = handleMbarrierArrive;
}
void lowerMbarrierTest(OpContext &context) {
  Instr &out = context.out;
  out.mode = mbarrierMode(context, 1);
  out.d = context.lowering.destinationPredicate(context, context.ptx.operands[0]);
  out.b = context.lowering.source(context, 2, out.mode & mbarrier::parity ? 4 : 8);
  out.handler = handleMbarrierTest;
}
void lowerMbarrierPending(OpContext &context) {
  context.out.d = context.lowering.destination(context, 0, 4);
  context.out.a = context.lowering.source(context, 1, 8);
  context.out.handler = handleMbarrierPending;
}

void lowerSetMaxRegisters(OpContext &context) {
  int64_t count = 0;
  if (!context.lowering.immediate(context, 0, count))
    return;
  if (count < 24 || count > 256 || count % 8)
    return context.lowering.fail(context.ptx,
                                 "expected 24 to 256 registers in steps of 8, but got " + std::to_string(count));
  context.out.imm = count;
  context.out.mode = context.op.has("inc");
  context.out.flags |= flag::Aligned;
  context.out.handler = handleSetMaxRegisters;
}

constexpr std::string_view mbarrierWords =
    "expect_tx noComplete release relaxed acquire cta cluster shared shared::cta shared::cluster parity b64";

constexpr OpPattern patterns[] = {
    {"bar.sync", "", "a?a", lowerBarrier},
    {"bar.arrive", "", "aa", lowerBarrier},
    {"bar.red", "popc and or u32 pred", "da*?*", lowerBarrierReduce},
    {"bar.cta.sync", "", "a?a", lowerBarrier},
    {"bar.cta.arrive", "", "aa", lowerBarrier},
    {"barrier.sync", "aligned", "a?a", lowerBarrier},
    {"barrier.arrive", "aligned", "aa", lowerBarrier},
    {"barrier.red", "aligned popc and or u32 pred", "da*?*", lowerBarrierReduce},
    {"barrier.cta.sync", "aligned", "a?a", lowerBarrier},
    {"barrier.cta.arrive", "aligned", "aa", lowerBarrier},
    {"barrier.cluster.arrive", "release relaxed aligned", "", lowerClusterArrive},
    {"barrier.cluster.wait", "acquire aligned", "", lowerClusterWait},
    {"membar", "cta gl sys gpu", "", lowerFence},
    {"fence", "sc acq_rel acquire release cta cluster gpu sys", "", lowerFence},
    {"fence.proxy",
     "async async.global async.shared alias tensormap::generic global shared shared::cta shared::cluster acquire "
     "release cta cluster gpu sys",
     "?ma", lowerProxyFence},
    {"fence.mbarrier_init", "release cluster", "", lowerMbarrierInitFence},
    {"mbarrier.init", mbarrierWords, "ma", lowerMbarrierInit},
    {"mbarrier.inval", mbarrierWords, "m", lowerMbarrierInvalidate},
    {"mbarrier.expect_tx", mbarrierWords, "ma", lowerMbarrierExpect},
    {"mbarrier.complete_tx", mbarrierWords, "ma", lowerMbarrierExpect},
    {"mbarrier.arrive", mbarrierWords, "W?**", lowerMbarrierArrive},
    {"mbarrier.arrive_drop", mbarrierWords, "W?**", lowerMbarrierArrive},
    {"mbarrier.test_wait", mbarrierWords, "pma", lowerMbarrierTest},
    {"mbarrier.try_wait", mbarrierWords, "pma?a", lowerMbarrierTest},
    {"mbarrier.pending_count", "b64", "da", lowerMbarrierPending},
    {"setmaxnreg", "inc dec sync aligned u32", "i", lowerSetMaxRegisters},
};

} // namespace

std::span<const OpPattern> syncPatterns() { return patterns; }

} // namespace fa::runtime::emulator
