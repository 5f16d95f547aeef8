#include "fa/Runtime/CPU/CpuDriver.h"
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace fa;
using namespace fa::runtime;
using Kind = KernelArgument::Kind;

namespace {

template <typename T> DeviceAddress addressOf(T *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

KernelArgument memref(const std::string &name, int rank) {
  KernelArgument argument;
  argument.kind = Kind::MemRef;
  argument.tensor = name;
  argument.rank = rank;
  return argument;
}

KernelArgument scalar(const std::string &name, DType type) {
  KernelArgument argument;
  argument.kind = Kind::Scalar;
  argument.scalar = name;
  argument.type = type;
  return argument;
}

KernelArgument of(Kind kind, const std::string &tensor = "", int dim = 0) {
  KernelArgument argument;
  argument.kind = kind;
  argument.tensor = tensor;
  argument.dim = dim;
  return argument;
}

LaunchDescriptor descriptor(std::vector<KernelArgument> arguments, std::string grid) {
  LaunchDescriptor result;
  result.entry = "scaleRow";
  result.abi = "so";
  result.grid[0] = std::move(grid);
  result.arguments = std::move(arguments);
  return result;
}

std::unique_ptr<Module> load(CpuDriver &driver, CpuKernel kernel) {
  ModuleImage image;
  image.kind = ModuleImage::Kind::Function;
  image.function = reinterpret_cast<void *>(kernel);
  auto module = driver.loadModule(image);
  EXPECT_TRUE(module);
  return std::move(*module);
}

TEST(CpuDriver, RunsASharedObjectOverStridedTensors) {
  CpuDriver driver(2);
  ModuleImage image;
  image.kind = ModuleImage::Kind::SharedObject;
  image.data = TEST_KERNEL;
  auto module = driver.loadModule(image);
  ASSERT_TRUE(module) << module.message();
  // q: rows of 8 in a buffer, starting at element 2; o: transposed view.
  std::vector<float> q(5 * 8), o(3 * 5, -1);
  std::iota(q.begin(), q.end(), 0.0f);
  Bindings bindings;
  bindings.tensors["q"] = {DType::F32, addressOf(q.data()), 2, {5, 3}, {8, 1}};
  bindings.tensors["o"] = {DType::F32, addressOf(o.data()), 0, {5, 3}, {1, 5}};
  bindings.scalars["scale"] = 0.5;
  const auto d = descriptor({memref("q", 2), memref("o", 2), scalar("scale", DType::F32)}, "q.dim0");
  const auto seconds = driver.launch(**module, d, bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  for (int row = 0; row < 5; ++row)
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(o[i * 5 + row], 0.5f * (row * 8 + 2 + i));
}

TEST(CpuDriver, ScalarsArriveInTheirOwnType) {
  CpuDriver driver(1);
  auto module = load(driver, [](int64_t, void **a) {
    auto *out = *static_cast<double **>(a[0]);
    out[0] = *static_cast<double *>(a[1]);
    out[1] = *static_cast<float *>(a[2]);
    out[2] = static_cast<double>(*static_cast<int32_t *>(a[3]));
    out[3] = static_cast<double>(*static_cast<int64_t *>(a[4]));
    out[4] = static_cast<double>(*static_cast<int64_t *>(a[5]));
    out[5] = *static_cast<uint16_t *>(a[6]);
    out[6] = static_cast<double>(*static_cast<int64_t *>(a[7]));
  });
  double out[7] = {};
  Bindings bindings;
  bindings.tensors["o"] = {DType::F64, addressOf(out), 0, {7}, {1}};
  bindings.scalars = {{"x", 0.1}, {"n", -3}};
  KernelArgument computed = scalar("", DType::I64);
  computed.expression = "o.dim0 * 6";
  const auto d =
      descriptor({of(Kind::Pointer, "o"), scalar("x", DType::F64), scalar("x", DType::F32), scalar("n", DType::I32),
                  of(Kind::Dim, "o", 0), of(Kind::Stride, "o", 0), scalar("n", DType::BF16), computed},
                 "1");
  const auto seconds = driver.launch(*module, d, bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  EXPECT_EQ(out[0], 0.1);
  EXPECT_EQ(out[1], 0.1f);
  EXPECT_EQ(out[2], -3);
  EXPECT_EQ(out[3], 7);
  EXPECT_EQ(out[4], 1);
  EXPECT_EQ(out[5], 0xc040);
  EXPECT_EQ(out[6], 42);
}

TEST(CpuDriver, EveryBlockOnceAndHeavyFirst) {
  CpuDriver driver(1);
  auto module = load(driver, [](int64_t block, void **a) {
    auto *log = *static_cast<int64_t **>(a[0]);
    log[++log[0]] = block;
  });
  int64_t log[13] = {};
  Bindings bindings;
  bindings.tensors["o"] = {DType::I64, addressOf(log), 0, {13}, {1}};
  auto d = descriptor({of(Kind::Pointer, "o")}, "2");
  d.grid[1] = "3";
  d.grid[2] = "2";
  ASSERT_TRUE(driver.launch(*module, d, bindings));
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(log[i + 1], i);
  log[0] = 0;
  d.order = "heavy_first";
  ASSERT_TRUE(driver.launch(*module, d, bindings));
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(log[i + 1], 11 - i);
}

TEST(CpuDriver, ScratchIsPrivateAlignedAndLargeEnough) {
  CpuDriver driver(4);
  struct Scratch {
    int64_t *allocated, *aligned;
    int64_t offset, size, stride;
  };
  auto module = load(driver, [](int64_t block, void **a) {
    const auto *scratch = static_cast<Scratch *>(a[0]);
    auto *bad = *static_cast<std::atomic<int> **>(a[1]);
    if (scratch->size != 4096 || scratch->stride != 1 || scratch->offset != 0 ||
        reinterpret_cast<uintptr_t>(scratch->aligned) % 64 != 0)
      ++*bad;
    for (int i = 0; i < 512; ++i)
      scratch->aligned[i] = block;
    std::this_thread::yield();
    for (int i = 0; i < 512; ++i)
      if (scratch->aligned[i] != block)
        ++*bad;
  });
  std::atomic<int> bad{0};
  Bindings bindings;
  bindings.tensors["bad"] = {DType::I32, addressOf(&bad), 0, {1}, {1}};
  auto d = descriptor({of(Kind::Scratch), of(Kind::Pointer, "bad")}, "500");
  d.scratchBytes = "bad.dim0 * 4096";
  const auto seconds = driver.launch(*module, d, bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  EXPECT_EQ(bad, 0);
}

TEST(CpuDriver, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<float> first;
  for (unsigned threads : {1u, 2u, 3u, 8u}) {
    CpuDriver driver(threads);
    auto module = load(driver, [](int64_t block, void **a) {
      auto *o = *static_cast<float **>(a[0]);
      float sum = 0;
      for (int64_t i = 0; i <= block * 10; ++i)
        sum += 1.0f / static_cast<float>(i + 1);
      o[block] = sum;
    });
    std::vector<float> o(300);
    Bindings bindings;
    bindings.tensors["o"] = {DType::F32, addressOf(o.data()), 0, {300}, {1}};
    ASSERT_TRUE(driver.launch(*module, descriptor({of(Kind::Pointer, "o")}, "o.dim0"), bindings));
    if (first.empty())
      first = o;
    EXPECT_EQ(std::memcmp(first.data(), o.data(), o.size() * sizeof(float)), 0) << threads;
  }
}

TEST(CpuDriver, EmptyGridSucceedsWithoutALaunch) {
  CpuDriver driver(1);
  auto module = load(driver, [](int64_t, void **) { FAIL() << "a block of an empty grid ran"; });
  Bindings bindings;
  bindings.tensors["q"] = {DType::F32, 0, 0, {0, 5}, {5, 1}};
  const auto seconds = driver.launch(*module, descriptor({memref("q", 2)}, "q.dim0"), bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  EXPECT_EQ(*seconds, 0.0);
}

class CpuDriverErrors : public ::testing::Test {
protected:
  CpuDriver driver{1};
  std::unique_ptr<Module> module = load(driver, [](int64_t, void **) { FAIL() << "launched in spite of an error"; });
  float data[12] = {};
  Bindings bindings;

  void SetUp() override { bindings.tensors["q"] = {DType::F32, addressOf(data), 0, {3, 4}, {4, 1}}; }

  std::string error(const LaunchDescriptor &d) {
    const auto result = driver.launch(*module, d, bindings);
    EXPECT_FALSE(result);
    return result ? "" : result.message();
  }
};

TEST_F(CpuDriverErrors, Arguments) {
  EXPECT_EQ(error(descriptor({memref("k", 2)}, "1")),
            "kernel 'scaleRow', argument 0: expected a tensor 'k', but it was not given");
  EXPECT_EQ(error(descriptor({memref("q", 4)}, "1")),
            "kernel 'scaleRow', argument 0: expected 'q' of rank 4, but got shape 3x4");
  EXPECT_NE(error(descriptor({scalar("s", DType::F32)}, "1")).find("expected a scalar 's'"), std::string::npos);
  EXPECT_NE(error(descriptor({of(Kind::Stride, "q", 2)}, "1")).find("dimension 2"), std::string::npos);
  EXPECT_NE(error(descriptor({of(Kind::TensorMap, "q")}, "1")).find("tensor map"), std::string::npos);
  bindings.scalars["s"] = 0.5;
  EXPECT_NE(error(descriptor({scalar("s", DType::I32)}, "1")).find("to be an i32, but got 0.5"), std::string::npos);
}

TEST_F(CpuDriverErrors, SizesAndGuards) {
  EXPECT_NE(error(descriptor({}, "0 - 1")).find("expected a grid size of 0 or more, but got -1"), std::string::npos);
  EXPECT_NE(error(descriptor({}, "Sq")).find("'Sq'"), std::string::npos);
  auto d = descriptor({}, "4611686018427387904");
  d.grid[1] = "4";
  EXPECT_NE(error(d).find("overflows"), std::string::npos);
  d = descriptor({}, "1");
  d.scratchBytes = "1152921504606846976";
  EXPECT_NE(error(d).find("cannot allocate 1 EiB for scratch memory: the machine has"), std::string::npos);
  d = descriptor({}, "1");
  d.guards = {{"q.stride0 % 8 == 0", "pad q"}};
  EXPECT_NE(error(d).find("q.stride0 = 4; pad q"), std::string::npos);
  d = descriptor({}, "1");
  d.abi = "ptx";
  EXPECT_NE(error(d).find("but got \"ptx\""), std::string::npos);
}

TEST_F(CpuDriverErrors, TensorsOutsideTheirAllocation) {
  const auto address = driver.allocate(48);
  ASSERT_TRUE(address);
  bindings.tensors["q"].base = *address;
  bindings.tensors["q"].offset = 1;
  EXPECT_NE(error(descriptor({}, "1")).find("expected tensor 'q' (3x4) to lie inside its 48 bytes"), std::string::npos);
  bindings.tensors["q"].offset = 0;
  bindings.tensors["q"].strides = {-4, 1};
  EXPECT_NE(error(descriptor({}, "1")).find("lie inside"), std::string::npos);
  bindings.tensors["q"].strides = {4};
  EXPECT_NE(error(descriptor({}, "1")).find("as many strides as sizes"), std::string::npos);
  bindings.tensors["q"] = {DType::F32, 0, 0, {3, 4}, {4, 1}};
  EXPECT_NE(error(descriptor({}, "1")).find("null"), std::string::npos);
}

TEST_F(CpuDriverErrors, Modules) {
  ModuleImage image;
  image.kind = ModuleImage::Kind::SharedObject;
  image.data = "no/such/file.so";
  EXPECT_NE(driver.loadModule(image).message().find("no/such/file.so"), std::string::npos);
  image.data = TEST_KERNEL;
  auto loaded = driver.loadModule(image);
  ASSERT_TRUE(loaded);
  module = std::move(*loaded);
  auto d = descriptor({}, "1");
  d.entry = "missing";
  EXPECT_NE(error(d).find("expected a kernel 'missing'"), std::string::npos);
  image.kind = ModuleImage::Kind::Ptx;
  EXPECT_NE(driver.loadModule(image).message().find("but got GPU code"), std::string::npos);
  image.kind = ModuleImage::Kind::Function;
  EXPECT_FALSE(driver.loadModule(image));
}

TEST(CpuDriver, Memory) {
  CpuDriver driver(1);
  const auto address = driver.allocate(100);
  ASSERT_TRUE(address);
  EXPECT_EQ(*address % 64, 0u);
  const char text[] = "hello";
  char back[6];
  ASSERT_TRUE(driver.copyToDevice(*address, text, 6));
  ASSERT_TRUE(driver.copyToHost(back, *address, 6));
  EXPECT_STREQ(back, "hello");
  EXPECT_TRUE(driver.release(*address));
  EXPECT_FALSE(driver.release(*address));
  EXPECT_TRUE(driver.allocate(0));
  const auto huge = driver.allocate(SIZE_MAX);
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.message().find("the machine has"), std::string::npos);
}

} // namespace
