// Control flow and warp-level opcodes.
#include "Handlers.h"
#include "Lowering.h"

namespace fa::runtime::emulator {
namespace {

void lowerBranch(OpContext &context) {
  context.out.target = context.lowering.labelTarget(context, context.ptx.operands[0].name, context.ptx.scope);
  context.out.handler = handleBranch;
  context.out.flags |= flag::Always;
}

void lowerBranchIndexed(OpContext &context) {
  const ptx::BranchTargets *targets = context.lowering.findTargets(context.ptx.operands[1].name, context.ptx.scope);
  std::vector<uint32_t> list;
  if (targets)
    for (std::string_view label : targets->labels)
      list.push_back(static_cast<uint32_t>(context.lowering.labelTarget(context, label, context.ptx.scope)));
  context.out.a = context.lowering.source(context, 0, 4);
  context.lowering.setList(context.out, list);
  context.out.handler = handleBranchIndexed;
  context.out.flags |= flag::Always;
}

void lowerReturn(OpContext &context) {
  context.out.handler = handleExit;
  context.out.flags |= flag::Always;
}
void lowerTrap(OpContext &context) { context.out.handler = handleTrap; }
void lowerNothing(OpContext &context) { context.out.handler = handleNothing; }

void lowerActiveMask(OpContext &context) {
  context.out.d = context.lowering.destination(context, 0, 4);
  context.out.handler = handleActiveMask;
}

void lowerVote(OpContext &context) {
  const Opcode &op = context.op;
  bool negated = false, ballot = op.has("ballot");
  Instr &out = context.out;
  if (!op.has("sync"))
    return;
  out.d = ballot ? context.lowering.destination(context, 0, 4)
                 : context.lowering.destinationPredicate(context, context.ptx.operands[0]);
  out.a = context.lowering.sourcePredicate(context, 1, negated);
  out.b = context.lowering.source(context, 2, 4);
  out.mode = static_cast<uint16_t>((op.has("all")   ? 0
                                    : op.has("any") ? 1
                                    : op.has("uni") ? 2
                                                    : 3) |
                                   (negated ? 16 : 0));
  out.handler = handleVote;
}

void lowerMatch(OpContext &context) {
  Instr &out = context.out;
  unsigned bytes = context.op.has("b64") ? 8 : 4;
  out.d = context.lowering.destination(context, 0, 4);
  out.extra = context.lowering.secondPredicate(context.ptx.operands[0]);
  out.a = context.lowering.source(context, 1, bytes);
  out.b = context.lowering.source(context, 2, 4);
  out.size = static_cast<uint16_t>(bytes);
  out.mode = context.op.has("all");
  out.handler = handleMatch;
}

void lowerReduce(OpContext &context) {
  static const std::string_view names[] = {"add", "min", "max", "and", "or", "xor"};
  const Opcode &op = context.op;
  Instr &out = context.out;
  out.d = context.lowering.destination(context, 0, 4);
  out.a = context.lowering.source(context, 1, 4);
  out.b = context.lowering.source(context, 2, 4);
  bool isSigned = op.type() == "s32";
  for (unsigned i = 0; i < 6; ++i)
    if (op.has(names[i])) {
      out.mode = static_cast<uint16_t>(i == 0 ? 0 : i == 1 ? (isSigned ? 2 : 1) : i == 2 ? (isSigned ? 4 : 3) : i + 2);
      out.handler = handleReduce;
    }
}

void lowerShuffle(OpContext &context) {
  static const std::string_view names[] = {"idx", "up", "down", "bfly"};
  Instr &out = context.out;
  out.d = context.lowering.destination(context, 0, 4);
  out.extra = context.lowering.secondPredicate(context.ptx.operands[0]);
  out.a = context.lowering.source(context, 1, 4);
  out.b = context.lowering.source(context, 2, 4);
  out.c = context.lowering.source(context, 3, 4);
  context.lowering.setList(out, {context.lowering.source(context, 4, 4)});
  for (unsigned i = 0; i < 4; ++i)
    if (context.op.has(names[i]) && context.op.has("sync")) {
      out.mode = static_cast<uint16_t>(i);
      out.handler = handleShuffle;
    }
}

void lowerElect(OpContext &context) {
  Instr &out = context.out;
  out.d = context.lowering.destination(context, 0, 4);
  out.extra = context.lowering.secondPredicate(context.ptx.operands[0]);
  out.a = context.lowering.source(context, 1, 4);
  out.handler = handleElect;
}

void lowerWarpSync(OpContext &context) {
  context.out.a = context.lowering.source(context, 0, 4);
  context.out.handler = handleWarpSync;
  context.out.flags |= flag::WarpSync;
}

constexpr OpPattern patterns[] = {
    {"bra", "uni", "l", lowerBranch},
    {"brx.idx", "uni", "al", lowerBranchIndexed},
    {"ret", "uni", "", lowerReturn},
    {"exit", "", "", lowerReturn},
    {"trap", "", "", lowerTrap},
    {"brkpt", "", "", lowerNothing},
    {"pmevent", "mask", "a", lowerNothing},
    {"nanosleep", "u32", "a", lowerNothing},
    {"griddepcontrol", "launch_dependents wait", "", lowerNothing},
    {"activemask", "b32", "d", lowerActiveMask},
    {"vote", "sync all any uni ballot pred b32", "dqa", lowerVote},
    {"match", "sync any all b32 b64", "Daa", lowerMatch},
    {"redux", "sync add min max and or xor u32 s32 b32", "daa", lowerReduce},
    {"shfl", "sync idx up down bfly b32", "Daaaa", lowerShuffle},
    {"elect", "sync", "Da", lowerElect},
    {"bar.warp.sync", "", "a", lowerWarpSync},
};

} // namespace

std::span<const OpPattern> controlPatterns() { return patterns; }

} // namespace fa::runtime::emulator
