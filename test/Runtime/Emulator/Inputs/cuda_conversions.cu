// Compares the engine's conversions with the host functions of CUDA's headers: every 16-bit input, and floats at and
// around every rounding boundary. Prints the number of comparisons; fails at the first difference.
#include "fa/Runtime/Emulator/Engine/Convert.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace emulator = fa::runtime::emulator;

static unsigned long comparisons = 0;

static void compare(const char *what, float input, unsigned ours, unsigned theirs, bool isNan) {
  ++comparisons;
  if (ours == theirs || isNan)
    return;
  std::printf("%s of %a: expected 0x%x, but got 0x%x\n", what, static_cast<double>(input), theirs, ours);
  std::exit(1);
}

template <typename T> static unsigned bitsOf(T value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

static void compareAll(float x) {
  const bool nan = std::isnan(x);
  compare("f16", x, emulator::roundToF16(x), bitsOf(__float2half_rn(x)), nan);
  compare("f16 toward zero", x, emulator::truncateToF16(x), bitsOf(__float2half_rz(x)), nan);
  compare("bf16", x, emulator::roundToBF16(x), bitsOf(__float2bfloat16_rn(x)), nan);
  compare("bf16 toward zero", x, emulator::truncateToBF16(x), bitsOf(__float2bfloat16_rz(x)), nan);
  compare("e4m3", x, emulator::roundToE4M3(x), __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3), nan);
  compare("e5m2", x, emulator::roundToE5M2(x), __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2), nan);
}

int main() {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    __half half;
    __nv_bfloat16 bfloat;
    const unsigned short raw = static_cast<unsigned short>(bits);
    std::memcpy(&half, &raw, 2);
    std::memcpy(&bfloat, &raw, 2);
    const float wideHalf = __half2float(half), wideBfloat = __bfloat162float(bfloat);
    compare("widened f16", wideHalf, bitsOf(emulator::widenF16(raw)), bitsOf(wideHalf), std::isnan(wideHalf));
    compare("widened bf16", wideBfloat, bitsOf(emulator::widenBF16(raw)), bitsOf(wideBfloat), std::isnan(wideBfloat));
    // Around each value, and around the middle to its neighbour, of both formats.
    for (float base : {wideHalf, wideBfloat})
      for (unsigned offset : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
        unsigned changed = bitsOf(base) + offset;
        float x;
        std::memcpy(&x, &changed, 4);
        compareAll(x);
      }
  }
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto raw = static_cast<__nv_fp8_storage_t>(bits);
    const float e4m3 = __half2float(__half(__nv_cvt_fp8_to_halfraw(raw, __NV_E4M3)));
    const float e5m2 = __half2float(__half(__nv_cvt_fp8_to_halfraw(raw, __NV_E5M2)));
    compare("widened e4m3", e4m3, bitsOf(emulator::widenE4M3(raw)), bitsOf(e4m3), std::isnan(e4m3));
    compare("widened e5m2", e5m2, bitsOf(emulator::widenE5M2(raw)), bitsOf(e5m2), std::isnan(e5m2));
    // Boundaries of fp8: the middles between neighbours and the floats beside them.
    const float next = __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits + 1), __NV_E4M3)));
    for (float middle : {(e4m3 + next) / 2, e4m3, e5m2})
      for (float x : {middle, std::nextafter(middle, INFINITY), std::nextafter(middle, -INFINITY)})
        compareAll(x);
  }
  std::printf("%lu comparisons agree\n", comparisons);
  return 0;
}
