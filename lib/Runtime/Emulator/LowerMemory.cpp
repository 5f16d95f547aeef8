// Loads, stores, atomics, address conversions, cp.async, ldmatrix, stmatrix.
#include "AtomicOps.h"
#include "Handlers.h"
#include "LaneOps.h"
#include "Lowering.h"
#include "MemoryAccess.h"

namespace fa::runtime::emulator {
namespace {

using ptx::Operand;

bool spaceOf(const Opcode &op, Space &space) {
  space = Space::Generic;
  for (std::string_view part : op.parts) {
    if (part == "global" || part == "const")
      space = Space::Global;
    else if (part == "shared" || part == "shared::cta" || part == "shared::cluster")
      space = Space::Shared;
    else if (part == "local")
      space = Space::Local;
    else if (part == "param" || part == "param::entry")
      space = Space::Param;
  }
  return true;
}

uint16_t accessMode(const Opcode &op, const AddressRef &address) {
  Space space;
  spaceOf(op, space);
  uint16_t mode = static_cast<uint16_t>(space);
  if (address.wide)
    mode |= access::wideAddress;
  if (op.type().starts_with("s"))
    mode |= access::signExtend;
  if (op.has("volatile") || op.has("relaxed") || op.has("acquire") || op.has("release") || op.has("acq_rel") ||
      op.has("mmio"))
    mode |= access::strong;
  if (op.has("acquire") || op.has("release") || op.has("acq_rel") || op.has("volatile"))
    mode |= access::synchronises;
  return mode;
}

/// Value registers of ld / st: one, or the elements of a vector; all of one width, which goes to `extra`.
bool valueSlots(OpContext &context, const Operand &operand, unsigned bytes, bool isStore) {
  Lowering &lowering = context.lowering;
  size_t expected = context.op.has("v2") ? 2 : context.op.has("v4") ? 4 : context.op.has("v8") ? 8 : 1;
  bool isVector = operand.kind == Operand::Kind::Vector;
  size_t count = isVector ? operand.elements.size() : 1;
  if (count != expected || (isVector && expected == 1)) {
    lowering.fail(context.ptx, "expected " + std::to_string(expected) + " registers for " +
                                   std::string(context.op.text) + ", but got " + std::to_string(count));
    return false;
  }
  std::vector<uint32_t> slots;
  unsigned width = 0;
  bool isFloat = context.op.type().starts_with("f");
  for (size_t i = 0; i < count; ++i) {
    const Operand &element = isVector ? operand.elements[i] : operand;
    unsigned mine = lowering.registerBytes(element);
    if (element.kind == Operand::Kind::Register && mine < bytes) {
      lowering.fail(context.ptx, "expected a register of at least " + std::to_string(8 * bytes) + " bits for " +
                                     std::string(context.op.text) + ", but got a narrower one or a predicate");
      return false;
    }
    if (mine == 0)
      mine = bytes == 8 ? 8 : 4;
    if (mine > 8 || (width && (width == 8) != (mine == 8))) {
      lowering.fail(context.ptx,
                    "expected registers of one width for " + std::string(context.op.text) + ", but got several");
      return false;
    }
    width = std::max(width, mine);
    slots.push_back(isStore ? lowering.source(context, element, mine == 8 ? 8 : bytes, isFloat, true)
                            : lowering.destination(context, element, bytes, true));
  }
  context.out.extra = width;
  lowering.setList(context.out, slots);
  return true;
}

void lowerLoadStore(OpContext &context) {
  bool isStore = context.op.parts[0] == "st";
  unsigned bytes = static_cast<unsigned>(ptx::bytesOfTypeName(context.op.type()));
  if (!bytes || bytes > 8)
    return;
  Instr &out = context.out;
  AddressRef address = context.lowering.address(context, isStore ? 0 : 1, "memory");
  if (context.lowering.failed() || !valueSlots(context, context.ptx.operands[isStore ? 1 : 0], bytes, isStore))
    return;
  out.a = address.slot;
  out.imm = address.offset;
  out.size = static_cast<uint16_t>(bytes);
  out.mode = accessMode(context.op, address);
  out.handler = isStore ? handleStore : handleLoad;
}

void lowerAtomic(OpContext &context) {
  const Opcode &op = context.op;
  bool isReduction = op.parts[0] == "red";
  Instr &out = context.out;
  AtomicType type;
  AtomicOperation operation;
  if (!atomicType(op.type(), type) || !atomicOperation(op, operation))
    return;
  size_t at = isReduction ? 0 : 1;
  unsigned bytes = bytesOf(type);
  bool isFloat = type == AtomicType::F32 || type == AtomicType::F64;
  AddressRef address = context.lowering.address(context, at, "memory");
  out.a = address.slot;
  out.imm = address.offset;
  out.size = static_cast<uint16_t>(bytes);
  out.mode = static_cast<uint16_t>(accessMode(op, address) | access::strong | access::synchronises);
  out.target = static_cast<int32_t>(static_cast<unsigned>(type) | static_cast<unsigned>(operation) << 8 |
                                    (isReduction ? 1u << 16 : 0));
  size_t vector = op.has("v2") ? 2 : op.has("v4") ? 4 : op.has("v8") ? 8 : 1;
  const Operand &value = context.ptx.operands[at + 1];
  if ((value.kind == Operand::Kind::Vector ? value.elements.size() : 1) != vector || (vector > 1 && !isReduction))
    return context.lowering.fail(context.ptx,
                                 "expected a supported vector form of " + std::string(op.text) + ", but got another");
  std::vector<uint32_t> slots;
  if (vector > 1)
    for (const Operand &element : value.elements)
      slots.push_back(context.lowering.source(context, element, bytes, isFloat));
  else
    slots.push_back(context.lowering.source(context, at + 1, bytes, isFloat));
  if (operation == AtomicOperation::Cas)
    out.c = context.lowering.source(context, at + 2, bytes);
  context.lowering.setList(out, slots);
  if (!isReduction)
    out.d = context.lowering.destination(context, 0, bytes);
  out.handler = handleAtomic;
}

void lowerToAddress(OpContext &context) {
  const Opcode &op = context.op;
  bool to = op.has("to");
  unsigned bytes = op.type() == "u32" ? 4 : 8;
  context.out.d = context.lowering.destination(context, 0, bytes);
  context.out.a = context.lowering.source(context, 1, bytes);
  context.out.imm =
      static_cast<int64_t>(op.has("shared") || op.has("shared::cta") || op.has("shared::cluster") ? window::shared
                           : op.has("local")                                                      ? window::local
                           : op.has("param") || op.has("param::entry")                            ? window::param
                                                                                                  : 0);
  if (bytes == 8)
    context.out.handler = to ? handleFromGeneric : handleToGeneric;
}

void lowerIsSpace(OpContext &context) {
  const Opcode &op = context.op;
  context.out.d = context.lowering.destinationPredicate(context, context.ptx.operands[0]);
  context.out.a = context.lowering.source(context, 1, 8);
  context.out.imm =
      static_cast<int64_t>(op.has("shared") || op.has("shared::cta") || op.has("shared::cluster") ? window::shared
                           : op.has("local")                                                      ? window::local
                           : op.has("param") || op.has("param::entry")                            ? window::param
                                                                                                  : 0);
  context.out.handler = handleIsSpace;
}

void lowerMapA(OpContext &context) {
  const Opcode &op = context.op;
  bool wide = op.type() == "u64";
  context.out.d = context.lowering.destination(context, 0, wide ? 8 : 4);
  context.out.a = context.lowering.source(context, 1, wide ? 8 : 4);
  context.out.b = context.lowering.source(context, 2, 4);
  context.out.size = wide ? 8 : 4;
  context.out.mode = op.has("shared::cluster");
  context.out.handler = handleMapA;
}

void lowerGetCtaRank(OpContext &context) {
  bool wide = context.op.type() == "u64";
  context.out.d = context.lowering.destination(context, 0, 4);
  context.out.a = context.lowering.source(context, 1, wide ? 8 : 4);
  context.out.size = wide ? 8 : 4;
  context.out.handler = handleGetCtaRank;
}

void lowerMatrixMove(OpContext &context) {
  const Opcode &op = context.op;
  bool isLoad = op.parts[0] == "ldmatrix";
  Instr &out = context.out;
  unsigned count = op.has("x4") ? 4 : op.has("x2") ? 2 : 1;
  if (!op.has("m8n8") || !op.has("b16") || !op.has("sync") || !op.has("aligned"))
    return;
  const Operand &registers = context.ptx.operands[isLoad ? 0 : 1];
  AddressRef address = context.lowering.address(context, isLoad ? 1 : 0, "shared");
  std::vector<uint32_t> slots;
  auto add = [&](const Operand &element) {
    slots.push_back(isLoad ? context.lowering.destination(context, element, 4)
                           : context.lowering.source(context, element, 4));
  };
  if (registers.kind == Operand::Kind::Vector)
    for (const Operand &element : registers.elements)
      add(element);
  else
    add(registers);
  if (slots.size() != count)
    return context.lowering.fail(context.ptx, "expected " + std::to_string(count) + " registers for " +
                                                  std::string(op.text) + ", but got " + std::to_string(slots.size()));
  context.lowering.setList(out, slots);
  out.a = address.slot;
  out.imm = address.offset;
  out.mode = static_cast<uint16_t>(static_cast<unsigned>(Space::Shared) | (address.wide ? access::wideAddress : 0));
  out.size = op.has("trans");
  out.flags |= flag::Aligned;
  out.handler = isLoad ? handleMatrixLoad : handleMatrixStore;
}

void lowerCpAsync(OpContext &context) {
  Instr &out = context.out;
  AddressRef to = context.lowering.address(context, 0, "shared"), from = context.lowering.address(context, 1, "global");
  int64_t bytes = 0;
  if (!context.lowering.immediate(context, 2, bytes))
    return;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return context.lowering.fail(context.ptx,
                                 "expected a cp.async of 4, 8 or 16 bytes, but got " + std::to_string(bytes));
  out.a = to.slot;
  out.b = from.slot;
  out.imm = to.offset;
  out.target = static_cast<int32_t>(from.offset);
  if (out.target != from.offset)
    return context.lowering.fail(context.ptx,
                                 "expected a source offset within 31 bits, but got " + std::to_string(from.offset));
  out.size = static_cast<uint16_t>(bytes);
  out.mode = static_cast<uint16_t>((to.wide ? 1 : 0) | (from.wide ? 2 : 0));
  bool hint = context.op.has("L2::cache_hint");
  if (context.ptx.operands.size() > 3u + hint) {
    if (context.lowering.isPredicate(context.ptx.operands[3])) {
      bool negated = false;
      out.c = context.lowering.sourcePredicate(context, 3, negated);
      out.mode |= static_cast<uint16_t>(8 | (negated ? 16 : 0));
    } else {
      out.c = context.lowering.source(context, 3, 4);
      out.mode |= 4;
    }
  }
  out.handler = handleCpAsync;
}

void lowerCpAsyncCommit(OpContext &context) { context.out.handler = handleCpAsyncCommit; }
void lowerCpAsyncWait(OpContext &context) {
  context.lowering.immediate(context, 0, context.out.imm);
  context.out.handler = handleCpAsyncWait;
}
void lowerCpAsyncWaitAll(OpContext &context) {
  context.out.mode = 1;
  context.out.handler = handleCpAsyncWait;
}
void lowerCpAsyncArrive(OpContext &context) {
  AddressRef address = context.lowering.address(context, 0, "shared");
  context.out.a = address.slot;
  context.out.imm = address.offset;
  context.out.mode = static_cast<uint16_t>((context.op.has("noinc") ? 1 : 0) | (address.wide ? 2 : 0));
  context.out.handler = handleCpAsyncArrive;
}

void lowerPrefetch(OpContext &context) {
  if (!context.op.has("tensormap")) {
    context.out.handler = handleNothing;
    return;
  }
  AddressRef address = context.lowering.address(context, 0, "tensor map");
  context.out.a = address.slot;
  context.out.imm = address.offset;
  context.out.size = address.wide ? 8 : 4;
  context.out.mode = context.op.has("param");
  context.out.handler = handlePrefetchTensorMap;
}
void lowerHint(OpContext &context) { context.out.handler = handleNothing; }

void lowerPolicy(OpContext &context) { // cache policies have no effect; the value only has to exist
  context.out.d = context.lowering.destination(context, 0, 8);
  context.out.a = context.lowering.constant(0, true);
  context.out.handler = laneHandler(LaneOp::MovB64);
}

constexpr std::string_view loadWords =
    "global shared shared::cta shared::cluster local param param::entry const nc ca cg cs lu cv wb wt volatile relaxed "
    "acquire release "
    "weak mmio cta cluster gpu sys L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::cache_hint L2::64B L2::128B L2::256B L2::evict_first L2::evict_last L2::evict_normal v2 v4 v8 unified "
    "b8 u8 s8 @bits @int f16 f32 f64";
constexpr std::string_view atomicWords =
    "relaxed acquire release acq_rel cta cluster gpu sys global shared shared::cta shared::cluster add min max inc dec "
    "and or xor exch cas "
    "noftz L2::cache_hint v2 v4 v8 u32 s32 u64 s64 b32 b64 b16 f16 bf16 f16x2 bf16x2 f32 f64";

constexpr OpPattern patterns[] = {
    {"ld", loadWords, "Vm?a", lowerLoadStore},
    {"ldu", loadWords, "Vm", lowerLoadStore},
    {"st", loadWords, "mv?a", lowerLoadStore},
    {"atom", atomicWords, "dmv?aa", lowerAtomic},
    {"red", atomicWords, "mv?a", lowerAtomic},
    {"cvta", "to global shared shared::cta shared::cluster local param param::entry const u32 u64", "da",
     lowerToAddress},
    {"isspacep", "global shared shared::cta shared::cluster local param param::entry const", "pa", lowerIsSpace},
    {"mapa", "shared::cluster u32 u64", "daa", lowerMapA},
    {"getctarank", "shared::cluster u32 u64", "da", lowerGetCtaRank},
    {"ldmatrix", "sync aligned m8n8 x1 x2 x4 trans shared shared::cta b16", "Vm", lowerMatrixMove},
    {"stmatrix", "sync aligned m8n8 x1 x2 x4 trans shared shared::cta b16", "mv", lowerMatrixMove},
    {"cp.async", "ca cg shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B", "mmi?*a", lowerCpAsync},
    {"cp.async.commit_group", "", "", lowerCpAsyncCommit},
    {"cp.async.wait_group", "", "i", lowerCpAsyncWait},
    {"cp.async.wait_all", "", "", lowerCpAsyncWaitAll},
    {"cp.async.mbarrier.arrive", "noinc shared shared::cta b64", "m", lowerCpAsyncArrive},
    {"prefetch", "global local param const tensormap L1 L2 L2::evict_last L2::evict_normal", "m", lowerPrefetch},
    {"prefetchu", "L1", "m", lowerHint},
    {"applypriority", "global L2::evict_normal", "mi", lowerHint},
    {"discard", "global L2", "mi", lowerHint},
    {"createpolicy",
     "fractional range cvt L2 global L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged b64", "d*?***",
     lowerPolicy},
};

} // namespace

std::span<const OpPattern> memoryPatterns() { return patterns; }

} // namespace fa::runtime::emulator
