// One kernel per function of ScalarFunctions.h: out[i] = function(a[i], b[i], c[i]). Compiled by nvcc, and by clang for
// nvptx64 without CUDA.
#include "ScalarFunctions.h"

#ifdef __CUDACC__
#define FA_KERNEL extern "C" __global__
#define FA_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#else
#define FA_KERNEL extern "C" __attribute__((device_kernel))
#define FA_INDEX                                                                                                       \
  (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#endif

#define FA_DEFINE(function)                                                                                            \
  FA_KERNEL void scalar_##function(const u32 *a, const u32 *b, const u32 *c, u32 *out, u32 count) {                    \
    u32 i = FA_INDEX;                                                                                                  \
    if (i < count)                                                                                                     \
      out[i] = function(a[i], b[i], c[i]);                                                                             \
  }
FA_SCALAR_FUNCTIONS(FA_DEFINE)
