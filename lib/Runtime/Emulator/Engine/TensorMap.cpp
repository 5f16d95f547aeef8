// Checks and the private encoding of tensor maps. The conditions are those of cuTensorMapEncodeTiled's documentation,
// except that strides need not be multiples of each other: drivers accept any order of dimensions.
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include <algorithm>
#include <cstring>
#include <string>

namespace fa::runtime::emulator {
namespace {

constexpr int invalidValue = 1; // CUDA_ERROR_INVALID_VALUE

struct TypeInfo {
  std::string_view name;
  unsigned size;
  bool isFloat;
};
constexpr TypeInfo types[] = {{"u8", 1, false},     {"u16", 2, false}, {"u32", 4, false},    {"s32", 4, false},
                              {"u64", 8, false},    {"s64", 8, false}, {"f16", 2, true},     {"f32", 4, true},
                              {"f64", 8, true},     {"bf16", 2, true}, {"f32 ftz", 4, true}, {"tf32", 4, true},
                              {"tf32 ftz", 4, true}};

Error invalid(const std::string &expected, uint64_t got) {
  return makeError("expected tensor map " + expected + ", but got " + std::to_string(got), invalidValue);
}
std::string inDimension(const char *what, unsigned dim) {
  return std::string(what) + " of dimension " + std::to_string(dim);
}
bool inRange(int value, int count) { return value >= 0 && value < count; }

Status checkEnumerations(const TensorMapRequest &r) {
  if (!inRange(r.type, static_cast<int>(std::size(types))))
    return invalid("data type 0..12", static_cast<uint64_t>(r.type));
  if (!inRange(r.interleave, 3))
    return invalid("interleave 0..2", static_cast<uint64_t>(r.interleave));
  if (!inRange(r.swizzle, 4))
    return invalid("swizzle 0..3 (none, 32, 64 or 128 bytes)", static_cast<uint64_t>(r.swizzle));
  if (!inRange(r.l2Promotion, 4))
    return invalid("L2 promotion 0..3", static_cast<uint64_t>(r.l2Promotion));
  if (!inRange(r.fill, 2))
    return invalid("out-of-bounds fill 0..1", static_cast<uint64_t>(r.fill));
  return Status::success();
}

Status checkTensor(const TensorMap &map) {
  uint64_t alignment = map.interleave == Interleave::B32 ? 32 : 16;
  if (map.base == 0 || map.base % alignment)
    return invalid("address to be a multiple of " + std::to_string(alignment) + " bytes and not null", map.base);
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    if (map.sizes[dim] == 0 || map.sizes[dim] > 1ull << 32)
      return invalid(inDimension("size", dim) + " in 1..2^32", map.sizes[dim]);
    if (dim > 0 && (map.strides[dim] % alignment || map.strides[dim] >= 1ull << 40))
      return invalid(inDimension("stride", dim) + " to be a multiple of " + std::to_string(alignment) +
                         " bytes below 2^40",
                     map.strides[dim]);
  }
  return Status::success();
}

Status checkBox(const TensorMap &map) {
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    if (map.box[dim] == 0 || map.box[dim] > 256)
      return invalid(inDimension("box", dim) + " in 1..256", map.box[dim]);
    if (map.elementStrides[dim] == 0 || map.elementStrides[dim] > 8)
      return invalid(inDimension("element stride", dim) + " in 1..8", map.elementStrides[dim]);
  }
  uint32_t rowBytes = map.box[0] * sizeOf(map.type), span = static_cast<uint32_t>(map.swizzle);
  if (map.interleave == Interleave::None) {
    if (rowBytes % 16)
      return invalid("inner box to be a multiple of 16 bytes", rowBytes);
    if (span && rowBytes > span)
      return invalid("inner box of at most " + std::to_string(span) + " bytes for its swizzle", rowBytes);
  }
  if (map.interleave == Interleave::B32 && map.swizzle != Swizzle::B32)
    return invalid("swizzle of 32 bytes for interleave 32B", span);
  return Status::success();
}

/// Byte layout of the private encoding.
constexpr uint32_t magic = 0x4d544146; // "FATM"
struct Layout {
  static constexpr size_t magic = 0, base = 8, sizes = 16, strides = 56, box = 88, elementStrides = 98, type = 103,
                          rank = 104, interleave = 105, swizzle = 106, fill = 107, checksum = 120;
};

uint64_t checksum(const uint8_t *bytes) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (size_t i = 0; i < Layout::checksum; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

template <typename T> void put(EncodedTensorMap &bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <typename T> T get(const uint8_t *bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof value);
  return value;
}

} // namespace

unsigned sizeOf(TensorMapType type) { return types[static_cast<unsigned>(type)].size; }
bool isFloat(TensorMapType type) { return types[static_cast<unsigned>(type)].isFloat; }
std::string_view nameOf(TensorMapType type) { return types[static_cast<unsigned>(type)].name; }

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = sizeOf(type);
  for (unsigned dim = 0; dim < rank; ++dim)
    bytes *= boxElements(dim);
  return bytes;
}

Expected<TensorMap> makeTensorMap(const TensorMapRequest &request) {
  if (Status status = checkEnumerations(request); !status)
    return status.error();
  bool interleaved = request.interleave != 0;
  if (request.rank < (interleaved ? 3 : 1) || request.rank > 5)
    return invalid(interleaved ? "rank 3..5 for an interleaved layout" : "rank 1..5", request.rank);
  if (!request.sizes || !request.box || !request.elementStrides || (request.rank > 1 && !request.strides))
    return makeError("expected tensor map sizes, strides, box and element strides, but got a null pointer",
                     invalidValue);
  constexpr Swizzle swizzles[] = {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128};
  TensorMap map;
  map.type = static_cast<TensorMapType>(request.type);
  map.rank = request.rank;
  map.base = request.base;
  map.interleave = static_cast<Interleave>(request.interleave);
  map.swizzle = swizzles[request.swizzle];
  map.fill = static_cast<OutOfBoundsFill>(request.fill);
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    map.sizes[dim] = request.sizes[dim];
    map.strides[dim] = dim ? request.strides[dim - 1] : sizeOf(map.type);
    map.box[dim] = request.box[dim];
    map.elementStrides[dim] = request.elementStrides[dim];
  }
  if (Status status = checkTensor(map); !status)
    return status.error();
  if (Status status = checkBox(map); !status)
    return status.error();
  if (map.fill == OutOfBoundsFill::NaN && !isFloat(map.type))
    return makeError("expected a floating-point tensor map for NaN fill, but got " + std::string(nameOf(map.type)),
                     invalidValue);
  map.elementStrides[0] = 1;
  return map;
}

EncodedTensorMap encodeTensorMap(const TensorMap &map) {
  EncodedTensorMap bytes{};
  put(bytes, Layout::magic, magic);
  put(bytes, Layout::base, map.base);
  for (unsigned dim = 0; dim < 5; ++dim) {
    put(bytes, Layout::sizes + 8 * dim, map.sizes[dim]);
    if (dim)
      put(bytes, Layout::strides + 8 * (dim - 1), map.strides[dim]);
    put(bytes, Layout::box + 2 * dim, static_cast<uint16_t>(map.box[dim]));
    put(bytes, Layout::elementStrides + dim, static_cast<uint8_t>(map.elementStrides[dim]));
  }
  put(bytes, Layout::type, static_cast<uint8_t>(map.type));
  put(bytes, Layout::rank, static_cast<uint8_t>(map.rank));
  put(bytes, Layout::interleave, static_cast<uint8_t>(map.interleave));
  put(bytes, Layout::swizzle, static_cast<uint8_t>(map.swizzle));
  put(bytes, Layout::fill, static_cast<uint8_t>(map.fill));
  put(bytes, Layout::checksum, checksum(bytes.data()));
  return bytes;
}

Expected<TensorMap> decodeTensorMap(std::span<const uint8_t, 128> encoded) {
  const uint8_t *bytes = encoded.data();
  if (get<uint32_t>(bytes, Layout::magic) != magic)
    return makeError("expected a tensor map made by cuTensorMapEncodeTiled, but got 128 other bytes");
  if (get<uint64_t>(bytes, Layout::checksum) != checksum(bytes))
    return makeError("expected an intact tensor map, but its checksum differs: it was changed after encoding");
  TensorMap map;
  map.type = static_cast<TensorMapType>(bytes[Layout::type]);
  map.rank = bytes[Layout::rank];
  map.base = get<uint64_t>(bytes, Layout::base);
  map.interleave = static_cast<Interleave>(bytes[Layout::interleave]);
  map.swizzle = static_cast<Swizzle>(bytes[Layout::swizzle]);
  map.fill = static_cast<OutOfBoundsFill>(bytes[Layout::fill]);
  for (unsigned dim = 0; dim < 5; ++dim) {
    map.sizes[dim] = get<uint64_t>(bytes, Layout::sizes + 8 * dim);
    map.strides[dim] = dim ? get<uint64_t>(bytes, Layout::strides + 8 * (dim - 1)) : sizeOf(map.type);
    map.box[dim] = get<uint16_t>(bytes, Layout::box + 2 * dim);
    map.elementStrides[dim] = bytes[Layout::elementStrides + dim];
  }
  return map;
}

} // namespace fa::runtime::emulator
