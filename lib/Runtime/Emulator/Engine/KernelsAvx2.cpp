// The vector kernels for avx2; see Kernels.h.
#define FA_KERNELS_NAME kernelsAvx2
#define FA_KERNELS_ISA "avx2"
#define FA_KERNELS_LANES 8
#include "KernelsVariant.h"
