// Read-modify-write of one element.
#include "AtomicOps.h"
#include "LaneMath.h"

namespace fa::runtime::emulator {

bool atomicType(std::string_view name, AtomicType &type) {
  static const std::pair<std::string_view, AtomicType> table[] = {
      {"u32", AtomicType::U32},     {"s32", AtomicType::S32},       {"u64", AtomicType::U64},
      {"s64", AtomicType::S64},     {"b32", AtomicType::B32},       {"b64", AtomicType::B64},
      {"b16", AtomicType::B16},     {"f16", AtomicType::F16},       {"bf16", AtomicType::BF16},
      {"f16x2", AtomicType::F16x2}, {"bf16x2", AtomicType::BF16x2}, {"f32", AtomicType::F32},
      {"f64", AtomicType::F64}};
  for (const auto &[spelling, value] : table)
    if (spelling == name) {
      type = value;
      return true;
    }
  return false;
}

bool atomicOperation(const Opcode &op, AtomicOperation &operation) {
  static const std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
  for (unsigned i = 0; i < 10; ++i)
    if (op.has(names[i])) {
      operation = static_cast<AtomicOperation>(i);
      return true;
    }
  return false;
}

unsigned bytesOf(AtomicType type) {
  switch (type) {
  case AtomicType::U64:
  case AtomicType::S64:
  case AtomicType::B64:
  case AtomicType::F64:
    return 8;
  case AtomicType::B16:
  case AtomicType::F16:
  case AtomicType::BF16:
    return 2;
  default:
    return 4;
  }
}

static uint64_t addTyped(AtomicType type, uint64_t old, uint64_t value) {
  auto a = static_cast<u32>(old), b = static_cast<u32>(value);
  switch (type) {
  case AtomicType::F32:
    return bitsOf(flush(floatOf(a) + floatOf(b)));
  case AtomicType::F64: {
    double x, y;
    std::memcpy(&x, &old, 8);
    std::memcpy(&y, &value, 8);
    x += y;
    std::memcpy(&old, &x, 8);
    return old;
  }
  case AtomicType::F16:
    return halfAdd(a, b);
  case AtomicType::BF16:
    return brainAdd(a, b);
  case AtomicType::F16x2:
    return both(a, b, halfAdd);
  case AtomicType::BF16x2:
    return both(a, b, brainAdd);
  default:
    return old + value;
  }
}

static bool less(AtomicType type, uint64_t a, uint64_t b) {
  switch (type) {
  case AtomicType::S32:
    return static_cast<int32_t>(a) < static_cast<int32_t>(b);
  case AtomicType::S64:
    return static_cast<int64_t>(a) < static_cast<int64_t>(b);
  case AtomicType::F16:
    return wideHalf(static_cast<u32>(a)) < wideHalf(static_cast<u32>(b));
  case AtomicType::BF16:
    return wideBrain(static_cast<u32>(a)) < wideBrain(static_cast<u32>(b));
  default:
    return a < b;
  }
}

static u32 minHalf(u32 a, u32 b) { return halfMin(a, b, false); }
static u32 maxHalf(u32 a, u32 b) { return halfMax(a, b, false); }
static u32 minBrain(u32 a, u32 b) { return brainMin(a, b, false); }
static u32 maxBrain(u32 a, u32 b) { return brainMax(a, b, false); }

static uint64_t extreme(AtomicType type, uint64_t old, uint64_t value, bool maximum) {
  auto a = static_cast<u32>(old), b = static_cast<u32>(value);
  if (type == AtomicType::F16x2)
    return both(a, b, maximum ? maxHalf : minHalf);
  if (type == AtomicType::BF16x2)
    return both(a, b, maximum ? maxBrain : minBrain);
  return less(type, value, old) != maximum ? value : old;
}

uint64_t applyAtomic(AtomicOperation operation, AtomicType type, uint64_t old, uint64_t value, uint64_t compare) {
  switch (operation) {
  case AtomicOperation::Add:
    return addTyped(type, old, value);
  case AtomicOperation::Min:
    return extreme(type, old, value, false);
  case AtomicOperation::Max:
    return extreme(type, old, value, true);
  case AtomicOperation::Inc:
    return old >= value ? 0 : old + 1;
  case AtomicOperation::Dec:
    return old == 0 || old > value ? value : old - 1;
  case AtomicOperation::And:
    return old & value;
  case AtomicOperation::Or:
    return old | value;
  case AtomicOperation::Xor:
    return old ^ value;
  case AtomicOperation::Exchange:
    return value;
  case AtomicOperation::Cas:
    return old == compare ? value : old;
  }
  return old;
}

template <typename T>
static uint64_t update(T *host, AtomicOperation operation, AtomicType type, uint64_t value, uint64_t compare) {
  T old = __atomic_load_n(host, __ATOMIC_RELAXED);
  T next;
  do
    next = static_cast<T>(applyAtomic(operation, type, old, value, compare));
  while (!__atomic_compare_exchange_n(host, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
  return old;
}

uint64_t updateAtomically(uint8_t *host, AtomicOperation operation, AtomicType type, uint64_t value, uint64_t compare) {
  switch (bytesOf(type)) {
  case 2:
    return update(reinterpret_cast<uint16_t *>(host), operation, type, value & 0xffff, compare & 0xffff);
  case 4:
    return update(reinterpret_cast<uint32_t *>(host), operation, type, value & 0xffffffff, compare & 0xffffffff);
  default:
    return update(reinterpret_cast<uint64_t *>(host), operation, type, value, compare);
  }
}

} // namespace fa::runtime::emulator
