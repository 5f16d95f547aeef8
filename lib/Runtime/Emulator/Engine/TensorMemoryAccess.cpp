// Moves boxes row by row; a row is cut into 16-byte chunks, the unit of the swizzle.
#include "fa/Runtime/Emulator/Engine/TensorMemoryAccess.h"
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

namespace fa::runtime::emulator {
namespace {

constexpr int illegalAddress = 700; // CUDA_ERROR_ILLEGAL_ADDRESS
constexpr uint32_t largestRow = 256 * 8;

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

Status checkBox(const TensorMap &map, SharedWindow shared, uint32_t address) {
  if (map.interleave != Interleave::None)
    return makeError("expected a tensor map without interleave: the emulator does not execute interleaved layouts");
  if (address % 128)
    return makeError("expected the shared address of a tensor copy to be a multiple of 128, but got " + hex(address),
                     716);
  uint64_t end = static_cast<uint64_t>(address) + map.boxBytes();
  if (map.swizzle != Swizzle::None)
    end = (end + 127) / 128 * 128; // short rows are permuted within their 128 bytes
  if (end > shared.size)
    return makeError("expected a box of " + std::to_string(map.boxBytes()) + " bytes at shared address " +
                         hex(address) + " to end inside shared memory (" + std::to_string(shared.size) + " bytes)",
                     illegalAddress);
  return Status::success();
}

/// Copies between a row of the box and shared memory, 16 bytes at a time.
void copyRowToShared(const uint8_t *row, uint32_t bytes, SharedWindow shared, uint32_t address, Swizzle swizzle) {
  if (swizzle == Swizzle::None) {
    std::memcpy(shared.data + address, row, bytes);
    return;
  }
  for (uint32_t at = 0; at < bytes; at += 16)
    std::memcpy(shared.data + swizzleAddress(address + at, swizzle), row + at, 16);
}
void copyRowFromShared(uint8_t *row, uint32_t bytes, SharedWindow shared, uint32_t address, Swizzle swizzle) {
  if (swizzle == Swizzle::None) {
    std::memcpy(row, shared.data + address, bytes);
    return;
  }
  for (uint32_t at = 0; at < bytes; at += 16)
    std::memcpy(row + at, shared.data + swizzleAddress(address + at, swizzle), 16);
}

/// Zero, or the NaN with all mantissa bits set.
void fillRow(uint8_t *row, uint32_t bytes, const TensorMap &map) {
  if (map.fill == OutOfBoundsFill::Zero) {
    std::memset(row, 0, bytes);
    return;
  }
  uint64_t pattern = sizeOf(map.type) == 2 ? 0x7fff : sizeOf(map.type) == 4 ? 0x7fffffff : 0x7fffffffffffffff;
  for (uint32_t at = 0; at < bytes; at += sizeOf(map.type))
    std::memcpy(row + at, &pattern, sizeOf(map.type));
}

Error inaccessible(uint64_t address, uint32_t bytes) {
  return makeError("expected global memory that a tensor map names to be allocated, but [" + hex(address) + ", " +
                       hex(address + bytes) + ") is not",
                   illegalAddress);
}

/// Runs `move(global bytes, shared row bytes, count)` for the in-bounds part of every row of a store or reduction.
template <typename Move>
Expected<BoxTraffic> writeBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared, uint32_t source,
                              const GlobalResolver &resolve, Move &&move) {
  if (Status status = checkBox(map, shared, source); !status)
    return status.error();
  for (unsigned dim = 0; dim < map.rank; ++dim)
    if (coordinates[dim] < 0)
      return makeError("expected non-negative coordinates in a tensor store, but got " +
                       std::to_string(coordinates[dim]) + " in dimension " + std::to_string(dim));
  BoxTraffic traffic;
  Status status;
  unsigned size = sizeOf(map.type);
  forEachBoxRow(map, coordinates, [&](const BoxRow &row) {
    if (!status || row.valid == 0)
      return;
    alignas(16) uint8_t bytes[largestRow];
    copyRowFromShared(bytes, row.elements * size, shared, source + row.offset, map.swizzle);
    uint32_t count = row.valid * size;
    uint8_t *global = resolve(row.address, count);
    if (!global) {
      status = inaccessible(row.address, count);
      return;
    }
    move(global, bytes + row.first * size, count);
    traffic.globalBytes += count;
  });
  if (!status)
    return status.error();
  return traffic;
}

template <typename T> T reduceInteger(Reduction reduction, T old, T value) {
  switch (reduction) {
  case Reduction::Add:
    return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(value));
  case Reduction::Min:
    return std::min(old, value);
  case Reduction::Max:
    return std::max(old, value);
  case Reduction::Inc:
    return old >= value ? T(0) : static_cast<T>(old + 1);
  case Reduction::Dec:
    return old == 0 || old > value ? value : static_cast<T>(old - 1);
  case Reduction::And:
    return old & value;
  case Reduction::Or:
    return old | value;
  case Reduction::Xor:
    return old ^ value;
  }
  return old;
}

/// Minimum and maximum ignore a NaN operand; -0 is less than +0.
template <typename Float> Float reduceFloat(Reduction reduction, Float old, Float value) {
  if (reduction == Reduction::Add)
    return old + value;
  if (old != old || value != value)
    return old != old ? value : old;
  bool oldIsLess = old < value || (old == value && std::signbit(old));
  return oldIsLess == (reduction == Reduction::Min) ? old : value;
}

template <typename T, typename Combine>
void reduceElements(uint8_t *destination, const uint8_t *source, size_t bytes, Combine &&combine) {
  for (size_t at = 0; at < bytes; at += sizeof(T)) {
    T old, value;
    std::memcpy(&old, destination + at, sizeof(T));
    std::memcpy(&value, source + at, sizeof(T));
    old = combine(old, value);
    std::memcpy(destination + at, &old, sizeof(T));
  }
}

} // namespace

std::string_view nameOf(Reduction reduction) {
  constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return names[static_cast<unsigned>(reduction)];
}

bool supports(Reduction reduction, TensorMapType type) {
  using enum TensorMapType;
  switch (reduction) {
  case Reduction::Add:
    return type != U8 && type != U16 && type != S64 && type != TF32 && type != TF32Ftz;
  case Reduction::Min:
  case Reduction::Max:
    return type == U32 || type == S32 || type == U64 || type == S64 || type == F16 || type == BF16;
  case Reduction::Inc:
  case Reduction::Dec:
    return type == U32;
  default:
    return type == U32 || type == S32 || type == U64 || type == S64;
  }
}

void reduceBulk(Reduction reduction, TensorMapType type, uint8_t *destination, const uint8_t *source, size_t bytes) {
  auto integers = [&]<typename T>() {
    reduceElements<T>(destination, source, bytes, [&](T a, T b) { return reduceInteger(reduction, a, b); });
  };
  auto floats = [&]<typename T>() {
    reduceElements<T>(destination, source, bytes, [&](T a, T b) { return reduceFloat(reduction, a, b); });
  };
  auto halves = [&](float (*widen)(uint16_t), uint16_t (*round)(float)) {
    reduceElements<uint16_t>(destination, source, bytes,
                             [&](uint16_t a, uint16_t b) { return round(reduceFloat(reduction, widen(a), widen(b))); });
  };
  switch (type) {
  case TensorMapType::U8:
    return integers.operator()<uint8_t>();
  case TensorMapType::U16:
    return integers.operator()<uint16_t>();
  case TensorMapType::U32:
    return integers.operator()<uint32_t>();
  case TensorMapType::S32:
    return integers.operator()<int32_t>();
  case TensorMapType::U64:
    return integers.operator()<uint64_t>();
  case TensorMapType::S64:
    return integers.operator()<int64_t>();
  case TensorMapType::F16:
    return halves(widenF16, roundToF16);
  case TensorMapType::BF16:
    return halves(widenBF16, roundToBF16);
  case TensorMapType::F64:
    return floats.operator()<double>();
  default:
    return floats.operator()<float>();
  }
}

Expected<BoxTraffic> loadBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared,
                             uint32_t destination, const GlobalResolver &resolve) {
  if (Status status = checkBox(map, shared, destination); !status)
    return status.error();
  BoxTraffic traffic;
  Status status;
  unsigned size = sizeOf(map.type);
  forEachBoxRow(map, coordinates, [&](const BoxRow &row) {
    if (!status)
      return;
    alignas(16) uint8_t bytes[largestRow];
    uint32_t count = row.valid * size;
    if (row.valid < row.elements)
      fillRow(bytes, row.elements * size, map);
    if (count) {
      const uint8_t *global = resolve(row.address, count);
      if (!global) {
        status = inaccessible(row.address, count);
        return;
      }
      std::memcpy(bytes + row.first * size, global, count);
    }
    copyRowToShared(bytes, row.elements * size, shared, destination + row.offset, map.swizzle);
    traffic.globalBytes += count;
  });
  if (!status)
    return status.error();
  return traffic;
}

Expected<BoxTraffic> storeBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared, uint32_t source,
                              const GlobalResolver &resolve) {
  return writeBox(map, coordinates, shared, source, resolve,
                  [](uint8_t *global, const uint8_t *row, size_t bytes) { std::memcpy(global, row, bytes); });
}

Expected<BoxTraffic> reduceBox(const TensorMap &map, const int32_t *coordinates, SharedWindow shared, uint32_t source,
                               Reduction reduction, const GlobalResolver &resolve) {
  if (!supports(reduction, map.type))
    return makeError("expected a type that reduction " + std::string(nameOf(reduction)) + " supports, but got " +
                     std::string(nameOf(map.type)));
  return writeBox(map, coordinates, shared, source, resolve, [&](uint8_t *global, const uint8_t *row, size_t bytes) {
    reduceBulk(reduction, map.type, global, row, bytes);
  });
}

} // namespace fa::runtime::emulator
