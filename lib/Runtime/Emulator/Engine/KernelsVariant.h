// Bodies of the vector kernels, included once per instruction set with FA_KERNELS_{NAME, ISA, LANES} defined.
// Everything has internal linkage, so that no unit's code can be linked in place of another's.
#include "Kernels.h"
#include <immintrin.h>

namespace fa::runtime::emulator::detail {
namespace {

constexpr unsigned lanes = FA_KERNELS_LANES;  ///< of one vector
constexpr unsigned rowsPerVector = lanes / 4; ///< a vector holds 4 columns of each row
constexpr unsigned rowVectors = 4;            ///< vectors of rows that one block covers
constexpr unsigned rowsPerBlock = rowVectors * rowsPerVector;

typedef float Floats __attribute__((vector_size(4 * lanes)));
typedef int32_t Ints __attribute__((vector_size(4 * lanes)));
typedef uint32_t Unsigneds __attribute__((vector_size(4 * lanes)));

#include "KernelsProduct.h"

#include "KernelsLanes.h"

} // namespace

const Kernels FA_KERNELS_NAME = {
    FA_KERNELS_ISA, multiplyFast, multiplyExact, exponents, convertToBF16x2, convertToF16x2, ex2, lg2, rcp,
    rsqrt,          squareRoot,   tanh,
};

} // namespace fa::runtime::emulator::detail
