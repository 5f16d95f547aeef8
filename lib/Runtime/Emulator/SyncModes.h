// Bits of Instr::mode for barriers and mbarriers.
#pragma once
#include <cstdint>

namespace fa::runtime::emulator {

namespace barrier {
inline constexpr uint16_t hasCount = 1, arriveOnly = 2, unaligned = 4, negate = 8;
} // namespace barrier

namespace mbarrier {
inline constexpr uint16_t wideAddress = 1, hasCount = 2, expect = 4, drop = 8, parity = 16, mayFail = 32, hasState = 64,
                          relaxed = 128;
} // namespace mbarrier

} // namespace fa::runtime::emulator
