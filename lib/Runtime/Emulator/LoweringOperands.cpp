// Operands of one instruction to slots, predicates and addresses.
#include "Lowering.h"
#include <cstring>

namespace fa::runtime::emulator {

using ptx::Operand;
using ptx::RegisterClass;

uint32_t Lowering::constant(uint64_t bits, bool wide) {
  auto [found, isNew] = constants.emplace(std::make_pair(bits, wide), kernel.slots * slotBytes);
  if (isNew) {
    kernel.constants.push_back({found->second, wide, bits});
    kernel.slots += wide ? 2 : 1;
  }
  return found->second;
}

uint32_t Lowering::special(OpContext &context, std::string_view name, bool &wide) {
  static const std::pair<std::string_view, Special> table[] = {{"%tid.x", Special::TidX},
                                                               {"%tid.y", Special::TidY},
                                                               {"%tid.z", Special::TidZ},
                                                               {"%ntid.x", Special::NTidX},
                                                               {"%ntid.y", Special::NTidY},
                                                               {"%ntid.z", Special::NTidZ},
                                                               {"%ctaid.x", Special::CtaIdX},
                                                               {"%ctaid.y", Special::CtaIdY},
                                                               {"%ctaid.z", Special::CtaIdZ},
                                                               {"%nctaid.x", Special::NCtaIdX},
                                                               {"%nctaid.y", Special::NCtaIdY},
                                                               {"%nctaid.z", Special::NCtaIdZ},
                                                               {"%laneid", Special::LaneId},
                                                               {"%warpid", Special::WarpId},
                                                               {"%nwarpid", Special::NWarpId},
                                                               {"%smid", Special::SmId},
                                                               {"%nsmid", Special::NSmId},
                                                               {"%gridid", Special::GridId},
                                                               {"%clusterid.x", Special::ClusterIdX},
                                                               {"%clusterid.y", Special::ClusterIdY},
                                                               {"%clusterid.z", Special::ClusterIdZ},
                                                               {"%nclusterid.x", Special::NClusterIdX},
                                                               {"%nclusterid.y", Special::NClusterIdY},
                                                               {"%nclusterid.z", Special::NClusterIdZ},
                                                               {"%cluster_ctaid.x", Special::ClusterCtaIdX},
                                                               {"%cluster_ctaid.y", Special::ClusterCtaIdY},
                                                               {"%cluster_ctaid.z", Special::ClusterCtaIdZ},
                                                               {"%cluster_nctaid.x", Special::ClusterNCtaIdX},
                                                               {"%cluster_nctaid.y", Special::ClusterNCtaIdY},
                                                               {"%cluster_nctaid.z", Special::ClusterNCtaIdZ},
                                                               {"%cluster_ctarank", Special::ClusterCtaRank},
                                                               {"%cluster_nctarank", Special::ClusterNCtaRank},
                                                               {"%lanemask_eq", Special::LaneMaskEq},
                                                               {"%lanemask_le", Special::LaneMaskLe},
                                                               {"%lanemask_lt", Special::LaneMaskLt},
                                                               {"%lanemask_ge", Special::LaneMaskGe},
                                                               {"%lanemask_gt", Special::LaneMaskGt},
                                                               {"%dynamic_smem_size", Special::DynamicSharedSize},
                                                               {"%total_smem_size", Special::TotalSharedSize},
                                                               {"%clock", Special::Clock},
                                                               {"%clock_hi", Special::Clock},
                                                               {"%clock64", Special::Clock64},
                                                               {"%globaltimer", Special::Clock64},
                                                               {"%globaltimer_lo", Special::Clock}};
  for (const auto &[spelling, kind] : table) {
    if (spelling != name)
      continue;
    wide = kind == Special::Clock64 || kind == Special::GridId;
    auto [found, isNew] = specials.emplace(kind, kernel.slots * slotBytes);
    if (isNew) {
      kernel.specials.push_back({found->second, kind});
      kernel.slots += wide ? 2 : 1;
    }
    return found->second;
  }
  fail(context.ptx, "expected a declared or special register, but got `" + std::string(name) + "`");
  return 0;
}

bool Lowering::variableAddress(std::string_view name, uint64_t &value) const {
  if (name == "WARP_SZ") {
    value = 32;
    return true;
  }
  auto found = variables.find(name);
  if (found == variables.end())
    return false;
  value = found->second.first;
  return true;
}

unsigned Lowering::registerBytes(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register ? bytesOf(entry.registers[operand.reg].kind) : 0;
}

std::vector<uint32_t> Lowering::tensorNumbers(const Operand &operand) const {
  std::vector<uint32_t> numbers;
  for (const Operand &element : operand.elements)
    if (element.reg >= 0)
      numbers.push_back(tensorNumber[element.reg]);
  return numbers;
}

bool Lowering::isPredicate(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register && entry.registers[operand.reg].kind == RegisterClass::Predicate;
}

uint32_t Lowering::source(OpContext &context, size_t index, unsigned bytes, bool isFloat, bool anyWidth) {
  if (index >= context.ptx.operands.size()) {
    fail(context.ptx,
         "expected operand " + std::to_string(index + 1) + " of " + std::string(context.op.text) + ", but got none");
    return 0;
  }
  return source(context, context.ptx.operands[index], bytes, isFloat, anyWidth);
}

/// Immediate bits as a value of `bytes` bytes; decimal floats are narrowed to f32 where needed.
static uint64_t immediateBits(const Operand &operand, unsigned bytes, bool isFloat) {
  uint64_t bits = operand.bits;
  if (operand.isFloat && operand.floatBytes == 8 && bytes == 4) {
    double wide;
    std::memcpy(&wide, &bits, 8);
    float narrow = static_cast<float>(wide);
    bits = 0;
    std::memcpy(&bits, &narrow, 4);
  } else if (operand.isFloat && operand.floatBytes == 4 && bytes == 8) {
    float narrow;
    std::memcpy(&narrow, &bits, 4);
    double wide = narrow;
    std::memcpy(&bits, &wide, 8);
  }
  return bytes >= 8 ? bits : bits & ((uint64_t(1) << (8 * bytes)) - 1);
}

uint32_t Lowering::source(OpContext &context, const Operand &operand, unsigned bytes, bool isFloat, bool anyWidth) {
  auto wrong = [&](const std::string &got) {
    fail(context.ptx, "expected a " + std::to_string(8 * bytes) + "-bit operand for " + std::string(context.op.text) +
                          ", but got " + got);
    return 0u;
  };
  switch (operand.kind) {
  case Operand::Kind::Register: {
    unsigned have = bytesOf(entry.registers[operand.reg].kind);
    const std::string &name = entry.registers[operand.reg].name;
    if (have == 0)
      return wrong("predicate " + name);
    if (!anyWidth && have != std::max(bytes, 2u))
      return wrong("the " + std::to_string(8 * have) + "-bit register " + name);
    return slotOf[operand.reg] * slotBytes;
  }
  case Operand::Kind::Immediate:
    return constant(immediateBits(operand, bytes, isFloat), bytes == 8);
  case Operand::Kind::Special: {
    bool wide = false;
    uint32_t slot = special(context, operand.name, wide);
    if (wide != (bytes == 8) && !failed())
      return wrong("special register " + std::string(operand.name));
    return slot;
  }
  case Operand::Kind::Name: {
    uint64_t value = 0;
    if (!variableAddress(operand.name, value)) {
      fail(context.ptx, "expected a declared register or variable, but got `" + std::string(operand.name) + "`");
      return 0;
    }
    value += static_cast<uint64_t>(operand.offset);
    if (bytes < 8)
      value &= (uint64_t(1) << (8 * bytes)) - 1;
    return constant(value, bytes == 8);
  }
  default:
    return wrong("a vector or address");
  }
}

uint32_t Lowering::destination(OpContext &context, size_t index, unsigned bytes, bool anyWidth) {
  if (index >= context.ptx.operands.size()) {
    fail(context.ptx,
         "expected operand " + std::to_string(index + 1) + " of " + std::string(context.op.text) + ", but got none");
    return 0;
  }
  return destination(context, context.ptx.operands[index], bytes, anyWidth);
}

uint32_t Lowering::destination(OpContext &context, const Operand &operand, unsigned bytes, bool anyWidth) {
  if (operand.kind == Operand::Kind::Sink) { // results are dropped into a slot of their own
    uint32_t slot = kernel.slots * slotBytes;
    kernel.slots += 2;
    return slot;
  }
  if (operand.kind != Operand::Kind::Register) {
    fail(context.ptx,
         "expected a register as destination of " + std::string(context.op.text) + ", but got something else");
    return 0;
  }
  unsigned have = bytesOf(entry.registers[operand.reg].kind);
  if (have == 0 || (!anyWidth && have != std::max(bytes, 2u))) {
    fail(context.ptx, "expected a " + std::to_string(8 * bytes) + "-bit destination for " +
                          std::string(context.op.text) + ", but got " +
                          (have ? "the " + std::to_string(8 * have) + "-bit register " : "predicate ") +
                          entry.registers[operand.reg].name);
    return 0;
  }
  return slotOf[operand.reg] * slotBytes;
}

uint32_t Lowering::sourcePredicate(OpContext &context, size_t index, bool &negated) {
  if (index >= context.ptx.operands.size()) {
    fail(context.ptx, "expected a predicate as operand " + std::to_string(index + 1) + ", but got none");
    return 0;
  }
  const Operand &operand = context.ptx.operands[index];
  negated = operand.negated;
  if (operand.kind == Operand::Kind::Immediate)
    return operand.bits ? predicateTrue : predicateFalse;
  if (!isPredicate(operand)) {
    fail(context.ptx, "expected a predicate as operand " + std::to_string(index + 1) + " of " +
                          std::string(context.op.text) + ", but got another register");
    return 0;
  }
  return slotOf[operand.reg];
}

uint32_t Lowering::destinationPredicate(OpContext &context, const Operand &operand) {
  if (operand.kind == Operand::Kind::Sink)
    return predicateSink;
  if (!isPredicate(operand)) {
    fail(context.ptx,
         "expected a predicate as destination of " + std::string(context.op.text) + ", but got something else");
    return 0;
  }
  return slotOf[operand.reg];
}

uint32_t Lowering::secondPredicate(const Operand &operand) const {
  return operand.reg2 >= 0 ? slotOf[operand.reg2] : predicateSink;
}

AddressRef Lowering::address(OpContext &context, size_t index, const char *space) {
  return address(context, context.ptx.operands[index], space);
}

AddressRef Lowering::address(OpContext &context, const Operand &operand, const char *space) {
  AddressRef ref;
  const Operand &base = operand.elements[0];
  if (base.kind == Operand::Kind::Register) {
    unsigned bytes = bytesOf(entry.registers[base.reg].kind);
    if (bytes != 4 && bytes != 8) {
      fail(context.ptx, "expected a 32- or 64-bit register as " + std::string(space) + " address, but got " +
                            entry.registers[base.reg].name);
      return ref;
    }
    ref.slot = slotOf[base.reg] * slotBytes;
    ref.wide = bytes == 8;
    ref.offset = operand.offset;
    return ref;
  }
  uint64_t value = base.bits;
  if (base.kind == Operand::Kind::Name && !variableAddress(base.name, value)) {
    fail(context.ptx, "expected a declared register or variable as address, but got `" + std::string(base.name) + "`");
    return ref;
  }
  ref.slot = constant(value, true);
  ref.wide = true;
  ref.offset = operand.offset;
  return ref;
}

void Lowering::setList(Instr &out, const std::vector<uint32_t> &slots) {
  out.list = static_cast<uint32_t>(kernel.lists.size());
  out.listSize = static_cast<uint16_t>(slots.size());
  kernel.lists.insert(kernel.lists.end(), slots.begin(), slots.end());
}

bool Lowering::immediate(OpContext &context, size_t index, int64_t &value) {
  if (index >= context.ptx.operands.size() || context.ptx.operands[index].kind != Operand::Kind::Immediate ||
      context.ptx.operands[index].isFloat) {
    fail(context.ptx, "expected a number as operand " + std::to_string(index + 1) + " of " +
                          std::string(context.op.text) + ", but got something else");
    return false;
  }
  value = static_cast<int64_t>(context.ptx.operands[index].bits);
  return true;
}

} // namespace fa::runtime::emulator
