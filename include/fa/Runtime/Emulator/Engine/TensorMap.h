// CUtensorMap: every check of cuTensorMapEncodeTiled, and a private 128-byte encoding with a checksum, so that a
// corrupt or uninitialised map is told apart from a valid one. Enumerators have cuda.h's values.
#pragma once
#include "fa/Runtime/Emulator/Engine/Types.h"
#include "fa/Support/Expected.h"
#include <array>
#include <span>
#include <string_view>

namespace fa::runtime::emulator {

enum class TensorMapType : uint8_t { U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32Ftz, TF32, TF32Ftz };
unsigned sizeOf(TensorMapType type);
bool isFloat(TensorMapType type);
std::string_view nameOf(TensorMapType type);

enum class Interleave : uint8_t { None, B16, B32 };
enum class OutOfBoundsFill : uint8_t { Zero, NaN };

/// A tiled tensor map of rank 1..5; index 0 is the innermost dimension.
struct TensorMap {
  TensorMapType type = TensorMapType::BF16;
  unsigned rank = 1;
  uint64_t base = 0;                        ///< global address
  std::array<uint64_t, 5> sizes{};          ///< elements
  std::array<uint64_t, 5> strides{};        ///< bytes; [0] is the element size
  std::array<uint32_t, 5> box{};            ///< elements, 1..256
  std::array<uint32_t, 5> elementStrides{}; ///< 1..8; [0] is always 1, as hardware ignores it
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  OutOfBoundsFill fill = OutOfBoundsFill::Zero;
  bool operator==(const TensorMap &) const = default;

  /// Elements of the box in dimension `dim` after element strides: ceil(box / elementStride).
  uint32_t boxElements(unsigned dim) const { return (box[dim] + elementStrides[dim] - 1) / elementStrides[dim]; }
  /// Bytes of a box in shared memory; what complete_tx counts, out-of-bounds elements included.
  uint32_t boxBytes() const;
};

using EncodedTensorMap = std::array<uint8_t, 128>;

/// The arguments of cuTensorMapEncodeTiled as it takes them (strides: rank - 1 entries, bytes, of dimensions 1..).
/// Values out of any enumeration's range are refused. Every error has code 1 (CUDA_ERROR_INVALID_VALUE).
struct TensorMapRequest {
  int type = 0;
  uint32_t rank = 0;
  uint64_t base = 0;
  const uint64_t *sizes = nullptr;
  const uint64_t *strides = nullptr;
  const uint32_t *box = nullptr;
  const uint32_t *elementStrides = nullptr;
  int interleave = 0;
  int swizzle = 0; ///< 0 none, 1 32 B, 2 64 B, 3 128 B (cuda.h order, not the descriptor's)
  int l2Promotion = 0;
  int fill = 0;
};
Expected<TensorMap> makeTensorMap(const TensorMapRequest &request);

/// Precondition: `map` came from makeTensorMap or decodeTensorMap.
EncodedTensorMap encodeTensorMap(const TensorMap &map);
/// Fails on a wrong magic or checksum (`corrupt tensor map`).
Expected<TensorMap> decodeTensorMap(std::span<const uint8_t, 128> bytes);

} // namespace fa::runtime::emulator
