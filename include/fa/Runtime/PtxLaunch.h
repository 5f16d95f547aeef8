// A launch of abi "ptx" worked out from a descriptor and its bindings, in the terms of the CUDA driver API: what the
// CUDA driver and the emulator both do before a launch.
#pragma once
#include "fa/Runtime/Driver.h"
#include <optional>

namespace fa::runtime {

/// The arguments of cuTensorMapEncodeTiled, with cuda.h's enumerators. Index 0 is the innermost dimension.
struct TensorMapSpec {
  int type = 0;
  uint32_t rank = 0;
  DeviceAddress base = 0;
  uint64_t sizes[5] = {};
  uint64_t strides[4] = {}; ///< bytes, of dimensions 1 .. rank - 1
  uint32_t box[5] = {};
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  int swizzle = 0; ///< 0 none, 1 32 B, 2 64 B, 3 128 B
};

/// One kernel parameter: its bytes, or the tensor map that stands for it, or scratch memory still to be allocated.
struct PtxArgument {
  std::vector<uint8_t> bytes;
  std::optional<TensorMapSpec> tensorMap;
  bool isScratch = false;
  std::string where; ///< "kernel 'k', argument 3 (tensor map of 'k')", for errors
};

struct PtxLaunch {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint64_t sharedBytes = 0;
  uint64_t scratchBytes = 0;
  std::vector<PtxArgument> arguments;

  bool empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};

/// Checks the abi and the guards, evaluates sizes, converts scalars. Errors name the kernel, the argument and the
/// remedy. A dimension of size 0 enters a tensor map as 1 (maps cannot be empty; such a kernel loads nothing from it).
/// The symbol `multiprocessors` stands for the given number, those of an H100 SXM or H200 by default: the grid of a
/// persistent kernel. A descriptor's own symbol and a scalar of that name come first.
Expected<PtxLaunch> preparePtxLaunch(const LaunchDescriptor &descriptor, const Bindings &bindings,
                                     int64_t multiprocessors = 132);

} // namespace fa::runtime
