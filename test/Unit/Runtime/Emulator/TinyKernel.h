// Runs a few lines of PTX: wraps a body in an entry `k(out, in, n)`, gives it buffers, and returns what it wrote.
#pragma once
#include "fa/Runtime/Emulator/Emulator.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace fa::test {
using namespace fa::runtime::emulator;

struct TinyKernel {
  std::string body;
  std::string moduleScope; ///< before the entry
  std::string directives = ".maxntid 1024, 1, 1";
  uint32_t block = 32, grid = 1, cluster = 1;
  uint64_t dynamicShared = 0;
  size_t outputs = 32;         ///< 32-bit words of the `out` buffer
  std::vector<uint32_t> input; ///< words of the `in` buffer
  uint32_t scalar = 0;         ///< parameter `n`
  Options options;
  bool zeroOutput = true;

  std::string text() const {
    return ".version 8.6\n.target sm_90a\n.address_size 64\n" + moduleScope +
           "\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n" + directives + "\n{\n" +
           ".reg .pred %p<32>;\n.reg .b16 %h<64>;\n.reg .b32 %r<128>;\n.reg .b64 %rd<64>;\n.reg .f32 %f<192>;\n.reg "
           ".f64 %fd<32>;\n" +
           "ld.param.u64 %rd0, [out];\nld.param.u64 %rd1, [in];\nmov.u32 %r0, %tid.x;\n" +
           // %rd2: address of this thread's output word, %rd3: of its input word
           "mul.wide.u32 %rd2, %r0, 4;\nadd.u64 %rd3, %rd1, %rd2;\nadd.u64 %rd2, %rd0, %rd2;\n" + body + "\nret;\n}\n";
  }
};

/// The line of the text on which `needle` first stands.
inline int lineOf(const std::string &text, const std::string &needle) {
  size_t at = text.find(needle);
  EXPECT_NE(at, std::string::npos) << needle;
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(std::min(at, text.size())), '\n'));
}

struct TinyResult {
  LaunchResult launch;
  std::vector<uint32_t> words;
  std::string error; ///< of loading or starting

  const Report *find(ReportKind kind) const {
    for (const Report &report : launch.reports)
      if (report.kind == kind)
        return &report;
    return nullptr;
  }
  std::string all() const {
    std::string text = error;
    for (const Report &report : launch.reports)
      text += toString(report) + "\n";
    return text;
  }
};

inline TinyResult run(const TinyKernel &kernel) {
  TinyResult result;
  Emulator device(kernel.options);
  auto program = device.load(kernel.text());
  if (!program) {
    result.error = program.message();
    return result;
  }
  auto out = device.allocate(kernel.outputs * 4, "out");
  auto in = device.allocate(kernel.input.size() * 4, "in");
  EXPECT_TRUE(out && in);
  if (kernel.zeroOutput)
    EXPECT_TRUE(device.fill(*out, 0, 4, kernel.outputs));
  EXPECT_TRUE(device.copyToDevice(*in, kernel.input.data(), kernel.input.size() * 4));
  LaunchRequest request;
  request.entry = "k";
  request.grid[0] = kernel.grid;
  request.block[0] = kernel.block;
  request.cluster[0] = kernel.cluster;
  request.dynamicSharedBytes = kernel.dynamicShared;
  request.parameters.resize(20);
  std::memcpy(request.parameters.data(), &*out, 8);
  std::memcpy(request.parameters.data() + 8, &*in, 8);
  std::memcpy(request.parameters.data() + 16, &kernel.scalar, 4);
  auto launched = device.launch(**program, request);
  if (!launched) {
    result.error = launched.message();
    return result;
  }
  result.launch = std::move(*launched);
  device.resetError();
  result.words.resize(kernel.outputs);
  EXPECT_TRUE(device.copyToHost(result.words.data(), *out, kernel.outputs * 4));
  return result;
}

inline TinyResult runClean(const TinyKernel &kernel) {
  TinyResult result = run(kernel);
  EXPECT_EQ(result.all(), "");
  return result;
}

inline float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint32_t asBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

/// Evaluates one instruction sequence that turns %r1, %r2, %r3 (from `in[3 * lane ..]`) into %r4.
inline std::vector<uint32_t> evaluate(const std::string &instructions, const std::vector<uint32_t> &operands) {
  TinyKernel kernel;
  kernel.body = "mul.wide.u32 %rd4, %r0, 12;\nadd.u64 %rd4, %rd1, %rd4;\nld.global.u32 %r1, [%rd4];\nld.global.u32 "
                "%r2, [%rd4+4];\n"
                "ld.global.u32 %r3, [%rd4+8];\nmov.u32 %r4, 0;\n" +
                instructions + "\nst.global.u32 [%rd2], %r4;";
  kernel.input = operands;
  kernel.input.resize(96, 0);
  return runClean(kernel).words;
}
inline uint32_t evaluateOne(const std::string &instructions, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  return evaluate(instructions, {a, b, c})[0];
}

} // namespace fa::test
