// Tells a unit test whether to run its exhaustive sweep (target check-full) or a subset (check).
#pragma once
#include <cstdlib>

namespace fa::test {
/// True under `check-full` (lit --param full=1 sets FA_TEST_FULL).
inline bool fullSweep() { return std::getenv("FA_TEST_FULL") != nullptr; }
} // namespace fa::test
