// The scalar core against x86: the same C++ functions, compiled here for x86 and checked in as PTX of nvcc and of LLVM,
// must give the same bits on random and on special inputs.
#include "../Fixtures/ScalarFunctions.h"
#include "Fixture.h"
#include "FullSweep.h"
#include <random>

using namespace fa;
using namespace fa::test;

namespace {

struct Function {
  const char *name;
  u32 (*onHost)(u32, u32, u32);
};
#define FA_LIST(function) {#function, [](u32 a, u32 b, u32 c) -> u32 { return function(a, b, c); }},
const Function functions[] = {FA_SCALAR_FUNCTIONS(FA_LIST)};

/// Patterns at which integer and floating-point code tends to break, then random ones.
std::vector<uint32_t> inputs(size_t count, uint32_t seed) {
  constexpr uint32_t special[] = {0,          1,          2,          3,          31,         32,         33,
                                  0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x3f800000, 0xbf800000,
                                  0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x00800000, 0x007fffff, 0x00000001,
                                  0x80000001, 0x4b000000, 0x4f000000, 0xcf000000, 0x3effffff, 0x3f000000, 0x33800000};
  std::mt19937 random(seed);
  std::vector<uint32_t> values(count);
  for (uint32_t &value : values)
    value = random() % 4 == 0 ? special[random() % std::size(special)] : static_cast<uint32_t>(random());
  return values;
}

class Differential : public testing::TestWithParam<const char *> {};

TEST_P(Differential, MatchesX86) {
  Emulator device;
  auto program = device.load(fixtureText(GetParam()));
  ASSERT_TRUE(program) << program.message();
  const size_t count = fullSweep() ? 1 << 18 : 1 << 11;
  const std::vector<uint32_t> a = inputs(count, 1), b = inputs(count, 2), c = inputs(count, 3);
  const uint64_t da = upload(device, a, "a"), db = upload(device, b, "b"), dc = upload(device, c, "c");
  for (const Function &function : functions) {
    auto out = device.allocate(count * 4, "out");
    ASSERT_TRUE(out);
    LaunchRequest request;
    request.entry = std::string("scalar_") + function.name;
    request.grid[0] = static_cast<uint32_t>(count / 128);
    request.block[0] = 128;
    request.parameters = Parameters().add(da).add(db).add(dc).add(*out).add(static_cast<uint32_t>(count)).bytes;
    auto result = device.launch(**program, request);
    ASSERT_TRUE(result) << function.name << ": " << result.message();
    ASSERT_TRUE(result->status) << function.name << ": " << result->status.message();
    const auto values = download<uint32_t>(device, *out, count);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(values[i], function.onHost(a[i], b[i], c[i]))
          << function.name << std::hex << " of 0x" << a[i] << ", 0x" << b[i] << ", 0x" << c[i];
    ASSERT_TRUE(Status(device.release(*out)));
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, Differential,
                         testing::Values("ScalarFunctions.nvcc.ptx", "ScalarFunctions.llvm.ptx"), [](const auto &info) {
                           return std::string(info.param).find("nvcc") != std::string::npos ? "nvcc" : "llvm";
                         });

} // namespace
