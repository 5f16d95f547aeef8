// Launch descriptors on the emulator: arguments, guards, findings as errors.
#include "fa/Runtime/Emulator/Emulator.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime;
using namespace fa::runtime::emulator;

namespace {

/// y[i] = a x[i] for i < n.
const char *scale = R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 a, .param .u64 n) {
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a]; ld.param.u64 %rd3, [n];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
  mad.lo.u32 %r1, %r1, 32, %r2;
  cvt.u64.u32 %rd4, %r1;
  setp.ge.u64 %p1, %rd4, %rd3;
  @%p1 ret;
  shl.b64 %rd4, %rd4, 2;
  add.u64 %rd1, %rd1, %rd4; add.u64 %rd2, %rd2, %rd4;
  ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd2], %f2;
  ret;
})";

struct Scaled : testing::Test {
  EmulatorDriver driver;
  std::unique_ptr<Module> module;
  LaunchDescriptor descriptor;
  Bindings bindings;

  void SetUp() override {
    ModuleImage image;
    image.data = scale;
    auto loaded = driver.loadModule(image);
    ASSERT_TRUE(loaded) << loaded.message();
    module = std::move(*loaded);
    auto parsed = LaunchDescriptor::fromJson(R"json({
      "version": 1, "entry": "scale", "abi": "ptx", "grid": ["ceildiv(x.dim0, 32)", "1", "1"], "block": [32, 1, 1],
      "args": [{"pointer": "x"}, {"pointer": "y"}, {"scalar": "a", "type": "f32"}, {"dim": "x.0"}]})json");
    ASSERT_TRUE(parsed) << parsed.message();
    descriptor = *parsed;
    bindings.scalars["a"] = 2.5;
    for (const char *name : {"x", "y"}) {
      auto address = driver.allocate(50 * 4);
      ASSERT_TRUE(address);
      bindings.tensors[name] = {DType::F32, *address, 0, {50}, {1}};
    }
    std::vector<float> values(50);
    for (size_t i = 0; i < 50; ++i)
      values[i] = static_cast<float>(i);
    ASSERT_TRUE(driver.copyToDevice(bindings.tensors["x"].base, values.data(), 200));
  }
};

TEST_F(Scaled, RunsForAnyLength) {
  auto seconds = driver.launch(*module, descriptor, bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  std::vector<float> result(50);
  ASSERT_TRUE(driver.copyToHost(result.data(), bindings.tensors["y"].base, 200));
  for (size_t i = 0; i < 50; ++i)
    EXPECT_EQ(result[i], 2.5f * static_cast<float>(i));
  for (const BufferTraffic &buffer : driver.lastResult().counters.buffers)
    EXPECT_EQ(buffer.bytesRead + buffer.bytesWritten, 200u) << buffer.name;
}

TEST_F(Scaled, FindingsAreErrors) {
  bindings.tensors["x"].sizes[0] = 60; // a lie about the buffer
  auto seconds = driver.launch(*module, descriptor, bindings);
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().code, IllegalAddress);
  EXPECT_NE(seconds.message().find("out of bounds: line 14"), std::string::npos) << seconds.message();
  EXPECT_NE(seconds.message().find("\"x\""), std::string::npos) << seconds.message();
}

TEST_F(Scaled, ArgumentsMustFit) {
  descriptor.arguments.pop_back();
  auto seconds = driver.launch(*module, descriptor, bindings);
  ASSERT_FALSE(seconds);
  EXPECT_NE(seconds.message().find("expected 4 arguments for `scale`, but got 3"), std::string::npos)
      << seconds.message();
  descriptor.arguments.push_back(descriptor.arguments[2]);
  seconds = driver.launch(*module, descriptor, bindings);
  ASSERT_FALSE(seconds);
  EXPECT_NE(seconds.message().find("expected 8 bytes, as the kernel declares, but got 4"), std::string::npos)
      << seconds.message();
}

TEST_F(Scaled, EmptyGridIsSuccess) {
  bindings.tensors["x"].sizes[0] = 0;
  auto seconds = driver.launch(*module, descriptor, bindings);
  ASSERT_TRUE(seconds) << seconds.message();
}

TEST_F(Scaled, TextOnly) {
  ModuleImage image;
  image.kind = ModuleImage::Kind::Cubin;
  auto loaded = driver.loadModule(image);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, 209);
}

} // namespace
