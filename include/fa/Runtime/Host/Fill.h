// Contents of input tensors: seeded random numbers by default, special patterns on request.
#pragma once
#include "fa/Runtime/Host/HostTensor.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fa::runtime {

/// One way to fill a tensor, as `--fill name=kind` spells it:
///   normal, normal:MEAN,DEVIATION   seeded N(0, 1), or with the given mean and deviation
///   uniform:LOW,HIGH                seeded, LOW <= x < HIGH
///   integers:LOW,HIGH               seeded integers, both bounds included
///   zeros, ones, value:X            X may be nan, inf or -inf
///   arange                          0, 1, 2, ... in row-major order
///   index:DIM                       the index along a dimension (DIM may be negative: from the end)
///   pow2:DIM                        2^index along a dimension; `pow2` alone means the sequence (-2; 1-d tensors: 0)
///   documents:COUNT                 sorted document ids 0 .. COUNT-1 along the last dimension
///   alibi                           2^(-8 (h + 1) / heads) along the last dimension
struct Fill {
  enum class Kind { Normal, Uniform, Integers, Value, Arange, Index, Pow2, Documents, Alibi };
  Kind kind = Kind::Normal;
  double a = 0; ///< mean, low, value or count
  double b = 1; ///< deviation or high
  int dim = 0;

  /// Fails with the list of kinds.
  static Expected<Fill> parse(const std::string &text);
  /// The spelling that parse accepts.
  std::string print() const;
};

/// Fills a tensor. An element depends on the seed, the tensor's name and its row-major index only, whatever the layout.
Status fillTensor(HostTensor &tensor, const Fill &fill, uint64_t seed);

/// Contents of a .npy file of the tensor's own type and shape. Errors name the file and the tensor.
Status fillFromFile(HostTensor &tensor, const std::string &path);
/// What raw bits in a .npy file mean for a tensor of `type` (readNpy); nothing where NumPy knows the type.
std::optional<DType> rawTypeOf(DType type);

/// Sets some elements: `[0,0,1,*]=nan` after the tensor's name; `*` stands for a whole dimension.
Status setElements(HostTensor &tensor, const std::string &assignment);

} // namespace fa::runtime
