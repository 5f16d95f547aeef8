// The CUDA driver end to end without a GPU: the process starts again with LD_LIBRARY_PATH at the shim, so that the
// driver finds the emulator where it looks for libcuda.so.1.
#include "fa/Runtime/CUDA/CudaDriver.h"
#include "fa/Support/File.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fa;
using namespace fa::runtime;

namespace {

std::string fixture(const std::string &name) {
  const char *source = std::getenv("FA_SOURCE_DIR");
  Expected<std::string> text =
      readFile(std::string(source ? source : ".") + "/test/Unit/Runtime/Emulator/Fixtures/" + name);
  EXPECT_TRUE(text) << text.message();
  return text ? *text : "";
}

std::unique_ptr<Driver> create() {
  auto driver = createCudaDriver();
  EXPECT_TRUE(driver) << driver.message();
  return driver ? std::move(*driver) : nullptr;
}

KernelArgument argument(KernelArgument::Kind kind, const std::string &name) {
  KernelArgument result;
  result.kind = kind;
  result.tensor = result.scalar = name;
  return result;
}

LaunchDescriptor vectorAdd() {
  using Kind = KernelArgument::Kind;
  LaunchDescriptor d;
  d.entry = "vector_add";
  d.abi = "ptx";
  d.grid[0] = "ceildiv(a.dim0, 128)";
  d.block[0] = 128;
  d.arguments = {argument(Kind::Pointer, "a"), argument(Kind::Pointer, "b"), argument(Kind::Pointer, "c"),
                 argument(Kind::Scalar, "scale"), argument(Kind::Scalar, "count")};
  d.arguments[3].type = DType::F32;
  d.arguments[4].type = DType::I32;
  return d;
}

struct Vectors {
  Driver &driver;
  Bindings bindings;
  std::vector<float> a, b;
  Vectors(Driver &driver, int64_t count) : driver(driver) {
    for (int64_t i = 0; i < count; ++i) {
      a.push_back(static_cast<float>(i));
      b.push_back(static_cast<float>(2 * i));
    }
    for (const auto &[name, values] :
         {std::pair<const char *, std::vector<float> *>{"a", &a}, {"b", &b}, {"c", nullptr}}) {
      auto address = driver.allocate(static_cast<size_t>(count) * 4);
      EXPECT_TRUE(address) << address.message();
      bindings.tensors[name] = {DType::F32, *address, 0, {count}, {1}};
      if (values) {
        Status copied = driver.copyToDevice(*address, values->data(), values->size() * 4);
        EXPECT_TRUE(copied) << copied.message();
      }
    }
    bindings.scalars = {{"scale", 0.25}, {"count", static_cast<double>(count)}};
  }
};

TEST(CudaDriver, DescribesTheDevice) {
  auto driver = create();
  ASSERT_TRUE(driver);
  EXPECT_NE(driver->describe().find("CUDA device 0: NVIDIA H100"), std::string::npos) << driver->describe();
  EXPECT_NE(driver->describe().find("sm_90"), std::string::npos);
  EXPECT_EQ(driver->abi(), "ptx");
  auto missing = createCudaDriver(3);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.message().find("expected a CUDA device in 0..0, but got 3"), std::string::npos)
      << missing.message();
}

TEST(CudaDriver, RunsAKernelFromItsDescriptor) {
  auto driver = create();
  ASSERT_TRUE(driver);
  auto module = driver->loadModule({ModuleImage::Kind::Ptx, fixture("VectorAdd.ptx")});
  ASSERT_TRUE(module) << module.message();
  Vectors vectors(*driver, 1000);
  auto seconds = driver->launch(**module, vectorAdd(), vectors.bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  EXPECT_GT(*seconds, 0);
  std::vector<float> c(1000);
  ASSERT_TRUE(driver->copyToHost(c.data(), vectors.bindings.tensors["c"].base, 4000));
  for (size_t i = 0; i < 1000; ++i)
    EXPECT_EQ(c[i], vectors.a[i] + 0.25f * vectors.b[i]);
  vectors.bindings.tensors["a"].sizes[0] = 0; // an empty grid is no launch
  EXPECT_EQ(*driver->launch(**module, vectorAdd(), vectors.bindings), 0.0);
}

/// Integers, so that sums are exact.
TEST(CudaDriver, RunsWarpSpecialisedTensorCores) {
  auto driver = create();
  ASSERT_TRUE(driver);
  auto module = driver->loadModule({ModuleImage::Kind::Ptx, fixture("TwoProducts.ptx")});
  ASSERT_TRUE(module) << module.message();
  constexpr int64_t rows = 128, keys = 128, depth = 64;
  LaunchDescriptor d;
  d.entry = "two_products";
  d.abi = "ptx";
  d.grid[0] = "q.dim0 / 128";
  d.block[0] = 384;
  d.sharedBytes = "6 * 8192";
  Bindings bindings;
  std::map<std::string, std::vector<int>> values;
  for (const auto &[name, count] :
       {std::pair<const char *, int64_t>{"q", rows}, {"k", keys}, {"v", keys}, {"o", rows}}) {
    std::vector<uint16_t> bits(static_cast<size_t>(count * depth));
    for (size_t i = 0; i < bits.size(); ++i) {
      values[name].push_back(static_cast<int>((i * 2654435761u >> 13) % 3) - 1);
      bits[i] = toBF16(values[name].back());
    }
    auto address = driver->allocate(bits.size() * 2);
    ASSERT_TRUE(address);
    ASSERT_TRUE(driver->copyToDevice(*address, bits.data(), bits.size() * 2));
    bindings.tensors[name] = {DType::BF16, *address, 0, {count, depth}, {depth, 1}};
    KernelArgument map = argument(KernelArgument::Kind::TensorMap, name);
    map.box = {64, 64};
    map.swizzle = 128;
    d.arguments.push_back(map);
  }
  KernelArgument tiles = argument(KernelArgument::Kind::Scalar, "");
  tiles.type = DType::I32;
  tiles.expression = "k.dim0 / 64";
  d.arguments.push_back(tiles);
  auto seconds = driver->launch(**module, d, bindings);
  ASSERT_TRUE(seconds) << seconds.message();
  std::vector<uint16_t> out(rows * depth);
  ASSERT_TRUE(driver->copyToHost(out.data(), bindings.tensors["o"].base, out.size() * 2));
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < depth; ++c) {
      int sum = 0;
      for (size_t j = 0; j < keys; ++j) {
        int s = 0;
        for (size_t e = 0; e < depth; ++e)
          s += values["q"][i * depth + e] * values["k"][j * depth + e];
        sum += s * values["v"][j * depth + c];
      }
      ASSERT_EQ(out[i * depth + c], toBF16(sum)) << i << " " << c;
    }
}

void expectError(const Expected<double> &result, const char *words, int code) {
  ASSERT_FALSE(result);
  EXPECT_NE(result.message().find(words), std::string::npos) << result.message();
  EXPECT_EQ(result.error().code, code) << result.message();
}

TEST(CudaDriver, ReportsNameAndMeaningOfEveryFailure) {
  auto driver = create();
  ASSERT_TRUE(driver);
  auto noMemory = driver->allocate(size_t(1) << 45);
  ASSERT_FALSE(noMemory);
  EXPECT_EQ(noMemory.message(), "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  auto badPtx = driver->loadModule({ModuleImage::Kind::Ptx, ".version 8.0\nnonsense"});
  ASSERT_FALSE(badPtx);
  EXPECT_NE(badPtx.message().find("CUDA_ERROR_INVALID_PTX (218)"), std::string::npos) << badPtx.message();
  EXPECT_NE(badPtx.message().find("line 2"), std::string::npos)
      << "the JIT log is part of the message: " << badPtx.message();
  EXPECT_FALSE(driver->loadModule({ModuleImage::Kind::SharedObject, "x.so"}));

  auto module = driver->loadModule({ModuleImage::Kind::Ptx, fixture("VectorAdd.ptx")});
  ASSERT_TRUE(module) << module.message();
  Vectors vectors(*driver, 64);
  LaunchDescriptor d = vectorAdd();
  d.entry = "nothing";
  expectError(driver->launch(**module, d, vectors.bindings), "CUDA_ERROR_NOT_FOUND", 500);
  d = vectorAdd();
  d.arguments.pop_back();
  expectError(driver->launch(**module, d, vectors.bindings), "expected 5 arguments, but the descriptor has 4", 0);
  d = vectorAdd();
  d.arguments[3].type = DType::F64;
  expectError(driver->launch(**module, d, vectors.bindings), "argument 3: expected 4 bytes, but got 8", 0);
  d = vectorAdd();
  d.sharedBytes = "300000";
  expectError(driver->launch(**module, d, vectors.bindings), "expected at most 232448 bytes of shared memory", 1);
  d = vectorAdd();
  d.block[0] = 2048;
  expectError(driver->launch(**module, d, vectors.bindings), "cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE", 1);
  d = vectorAdd();
  d.guards = {{"a.dim0 % 1000 == 0", "pad a"}};
  expectError(driver->launch(**module, d, vectors.bindings), "pad a", 0);
  // Last, because it makes the context unusable.
  vectors.bindings.tensors["c"].base = 0x10000;
  expectError(driver->launch(**module, vectorAdd(), vectors.bindings), "CUDA_ERROR_ILLEGAL_ADDRESS (700)", 700);
  EXPECT_EQ(driver->allocate(16).error().code, 700);
}

} // namespace

int main(int argc, char **argv) {
  const char *path = std::getenv("LD_LIBRARY_PATH");
  if (!path || std::string(path) != FA_SHIM_FOLDER) {
    ::setenv("LD_LIBRARY_PATH", FA_SHIM_FOLDER, 1);
    ::execv("/proc/self/exe", argv);
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
