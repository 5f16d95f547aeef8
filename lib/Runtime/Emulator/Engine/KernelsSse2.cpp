// The vector kernels for sse2; see Kernels.h.
#define FA_KERNELS_NAME kernelsSse2
#define FA_KERNELS_ISA "sse2"
#define FA_KERNELS_LANES 4
#include "KernelsVariant.h"
