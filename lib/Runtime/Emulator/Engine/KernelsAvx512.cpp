// The vector kernels for avx512; see Kernels.h.
#define FA_KERNELS_NAME kernelsAvx512
#define FA_KERNELS_ISA "avx512"
#define FA_KERNELS_LANES 16
#include "KernelsVariant.h"
