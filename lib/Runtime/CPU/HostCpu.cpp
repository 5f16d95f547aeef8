// Feature bits of CPUID (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E) by LLVM's names.
#include "fa/Runtime/CPU/HostCpu.h"
#include <algorithm>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fa::runtime {
namespace {

enum Register { EAX, EBX, ECX, EDX };
/// Registers that the operating system must save: bits of XCR0.
enum State : uint64_t { None = 0, Avx = 0x6, Avx512 = 0xe6 };

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  State state = None;
};

constexpr uint32_t extended = 0x80000001;
constexpr Feature features[] = {
    {"sse3", 1, 0, ECX, 0},
    {"ssse3", 1, 0, ECX, 9},
    {"fma", 1, 0, ECX, 12, Avx},
    {"cx16", 1, 0, ECX, 13},
    {"sse4.1", 1, 0, ECX, 19},
    {"sse4.2", 1, 0, ECX, 20},
    {"crc32", 1, 0, ECX, 20},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"bmi", 7, 0, EBX, 3},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"adx", 7, 0, EBX, 19},
    {"avx512ifma", 7, 0, EBX, 21, Avx512},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, Avx512},
    {"gfni", 7, 0, ECX, 8},
    {"avx512vnni", 7, 0, ECX, 11, Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Avx512},
    {"avx512vp2intersect", 7, 0, EDX, 8, Avx512},
    {"avx512fp16", 7, 0, EDX, 23, Avx512},
    {"avxvnni", 7, 1, EAX, 4, Avx},
    {"avx512bf16", 7, 1, EAX, 5, Avx512},
    {"avxifma", 7, 1, EAX, 23, Avx},
    {"avxvnniint8", 7, 1, EDX, 4, Avx},
    {"avxneconvert", 7, 1, EDX, 5, Avx},
    {"avxvnniint16", 7, 1, EDX, 10, Avx},
    {"sahf", extended, 0, ECX, 0},
    {"lzcnt", extended, 0, ECX, 5},
    {"sse4a", extended, 0, ECX, 6},
    {"xop", extended, 0, ECX, 11, Avx},
    {"fma4", extended, 0, ECX, 16, Avx},
    {"tbm", extended, 0, ECX, 21},
};

#if defined(__x86_64__)
/// XCR0, or 0 where the operating system does not use XSAVE.
uint64_t enabledState() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t osxsave = 1u << 27;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
    return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool hasFeature(const Feature &feature, uint64_t state) {
  uint32_t registers[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &registers[EAX], &registers[EBX], &registers[ECX],
                           &registers[EDX]) &&
         (registers[feature.reg] >> feature.bit & 1) && (state & feature.state) == feature.state;
}
#else
uint64_t enabledState() { return 0; }
bool hasFeature(const Feature &, uint64_t) { return false; }
#endif

std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Those of `wanted` that are not in the sorted list `have`.
std::vector<std::string> missingFrom(const std::vector<std::string> &wanted, const std::vector<std::string> &have) {
  std::vector<std::string> missing;
  for (const std::string &name : wanted)
    if (!std::binary_search(have.begin(), have.end(), name))
      missing.push_back(name);
  return missing;
}
} // namespace

std::string hostArchitecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "";
#endif
}

const std::vector<std::string> &checkableFeatures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Feature &feature : features)
      all.push_back(feature.name);
    std::sort(all.begin(), all.end());
    return all;
  }();
  return names;
}

const std::vector<std::string> &hostFeatures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> present;
    const uint64_t state = enabledState();
    for (const Feature &feature : features)
      if (hasFeature(feature, state))
        present.push_back(feature.name);
    std::sort(present.begin(), present.end());
    return present;
  }();
  return names;
}

Status checkHostCpu(const CpuRequirement &requirement) {
  if (requirement.empty())
    return Status::success();
  if (requirement.architecture != hostArchitecture())
    return makeError("expected code for a CPU of architecture " + hostArchitecture() + ", but got code for " +
                     requirement.architecture);
  const std::vector<std::string> missing = missingFrom(requirement.features, hostFeatures());
  if (missing.empty())
    return Status::success();
  const std::vector<std::string> unknown = missingFrom(missing, checkableFeatures());
  if (!unknown.empty())
    return makeError("expected CPU features that this runtime can check, but got " + join(unknown) +
                     "; update the runtime");
  return makeError("expected a CPU with " + join(missing) + ", but this one lacks " +
                   (missing.size() == 1 ? "it" : "them") +
                   "; compile for this machine with fa-compile --target=cpu --cpu=host, or for all x86-64 CPUs with "
                   "--cpu=x86-64");
}

} // namespace fa::runtime
