#include "fa/Runtime/CPU/HostCpu.h"
#include "fa/Runtime/CPU/CpuDriver.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace fa;
using namespace fa::runtime;

namespace {

bool contains(const std::vector<std::string> &list, const std::string &item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// A checkable feature that this CPU lacks: no CPU has all of AMD's and Intel's.
std::string absentFeature() {
  for (const std::string &feature : checkableFeatures())
    if (!contains(hostFeatures(), feature))
      return feature;
  return "";
}

TEST(HostCpu, AcceptsWhatItHas) {
  EXPECT_TRUE(checkHostCpu({}));
  EXPECT_TRUE(checkHostCpu({hostArchitecture(), {}}));
  EXPECT_TRUE(checkHostCpu({hostArchitecture(), hostFeatures()}));
}

TEST(HostCpu, NamesWhatIsMissing) {
  const Status architecture = checkHostCpu({"riscv64", {}});
  ASSERT_FALSE(architecture);
  EXPECT_EQ(architecture.message(),
            "expected code for a CPU of architecture " + hostArchitecture() + ", but got code for riscv64");
  if (checkableFeatures() == hostFeatures())
    GTEST_SKIP() << "a CPU with every feature";
  CpuRequirement requirement{hostArchitecture(), hostFeatures()};
  requirement.features.push_back(absentFeature());
  const Status feature = checkHostCpu(requirement);
  ASSERT_FALSE(feature);
  EXPECT_EQ(feature.message().find("expected a CPU with " + absentFeature() + ", but this one lacks it; compile for"),
            0u)
      << feature.message();
  requirement.features.push_back("warp9");
  const Status unknown = checkHostCpu(requirement);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.message().find("this runtime can check, but got warp9"), std::string::npos) << unknown.message();
}

/// The kernel lists what CPUID says, in names of its own.
TEST(HostCpu, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::vector<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        flags.push_back(word);
    }
  if (flags.empty())
    GTEST_SKIP() << "no x86 flags in /proc/cpuinfo";
  const std::pair<const char *, const char *> names[] = {{"sse3", "pni"},
                                                         {"ssse3", "ssse3"},
                                                         {"sse4.1", "sse4_1"},
                                                         {"sse4.2", "sse4_2"},
                                                         {"avx", "avx"},
                                                         {"avx2", "avx2"},
                                                         {"fma", "fma"},
                                                         {"f16c", "f16c"},
                                                         {"bmi", "bmi1"},
                                                         {"bmi2", "bmi2"},
                                                         {"lzcnt", "abm"},
                                                         {"popcnt", "popcnt"},
                                                         {"avx512f", "avx512f"},
                                                         {"avx512dq", "avx512dq"},
                                                         {"avx512bf16", "avx512_bf16"},
                                                         {"avx512fp16", "avx512_fp16"},
                                                         {"gfni", "gfni"},
                                                         {"avxvnni", "avx_vnni"},
                                                         {"sse4a", "sse4a"},
                                                         {"fma4", "fma4"}};
  for (const auto &[feature, flag] : names)
    EXPECT_EQ(contains(hostFeatures(), feature), contains(flags, flag)) << feature;
}

TEST(HostCpu, ADriverRefusesCodeForAnotherCpu) {
  CpuDriver driver(1);
  LaunchDescriptor descriptor;
  descriptor.entry = "k";
  descriptor.abi = "so";
  EXPECT_TRUE(driver.accepts(descriptor));
  descriptor.cpu.architecture = "riscv64";
  const Status refused = driver.accepts(descriptor);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.message().find("kernel 'k': expected code for a CPU of architecture"), 0u) << refused.message();
  descriptor.abi = "ptx";
  EXPECT_NE(driver.accepts(descriptor).message().find("expected abi \"so\""), std::string::npos);
  // A launch asks as well: it may come without a package.
  descriptor.abi = "so";
  ModuleImage image;
  image.kind = ModuleImage::Kind::Function;
  image.function = reinterpret_cast<void *>(+[](int64_t, void **) { FAIL() << "executed"; });
  auto module = driver.loadModule(image);
  ASSERT_TRUE(module);
  EXPECT_FALSE(driver.launch(**module, descriptor, {}));
}

} // namespace
