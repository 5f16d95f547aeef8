// Launch descriptors of hopper kernels: what each kind of argument becomes, and what is refused.
#include "fa/Pipelines/DescribeHopper.h"
#include "fa/Pipelines/Register.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using fa::KernelArgument;
using fa::LaunchDescriptor;
using Kind = KernelArgument::Kind;

namespace {
/// A launch of five arguments: tensors q, lse and bias, a float scale, an index.
LaunchDescriptor host() {
  LaunchDescriptor descriptor;
  descriptor.entry = "k_host";
  descriptor.abi = "so";
  descriptor.order = "heavy_first";
  descriptor.grid[0] = "(ceildiv(q.dim2, 128) * 8)";
  descriptor.guards = {{"q.dim3 == 128", "recompile"}};
  for (const char *tensor : {"q", "lse", "bias"}) {
    KernelArgument &argument = descriptor.arguments.emplace_back();
    argument.kind = Kind::MemRef;
    argument.tensor = tensor;
  }
  KernelArgument &scale = descriptor.arguments.emplace_back();
  scale.kind = Kind::Scalar;
  scale.scalar = "scale";
  scale.type = fa::DType::F32;
  KernelArgument &length = descriptor.arguments.emplace_back();
  length.kind = Kind::Scalar;
  length.scalar = "length";
  length.type = fa::DType::I64;
  return descriptor;
}

class DescribeHopper : public testing::Test {
protected:
  DescribeHopper() {
    mlir::DialectRegistry registry;
    mlir::fa::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  /// The descriptor of a kernel with these arguments and attributes; `error` holds the diagnostic when it is refused.
  mlir::FailureOr<LaunchDescriptor> describe(const std::string &arguments, const std::string &attributes) {
    const std::string text =
        "gpu.module @m { gpu.func @k(" + arguments + ") kernel attributes {" + attributes + "} { gpu.return } }";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { error = diagnostic.str(); });
    mlir::gpu::GPUFuncOp kernel;
    module->walk([&](mlir::gpu::GPUFuncOp found) { kernel = found; });
    return mlir::fa::describeHopperKernel(host(), kernel);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error;
};

constexpr const char *scheduled = "hopper.shared_bytes = 163920 : i64, known_block_size = array<i32: 384, 1, 1>";
} // namespace

TEST_F(DescribeHopper, TheLaunchItself) {
  auto descriptor = describe("", scheduled);
  ASSERT_TRUE(mlir::succeeded(descriptor)) << error;
  EXPECT_EQ(descriptor->entry, "k");
  EXPECT_EQ(descriptor->abi, "ptx");
  EXPECT_EQ(descriptor->grid[0], "(ceildiv(q.dim2, 128) * 8)");
  EXPECT_EQ(descriptor->block[0], 384);
  EXPECT_EQ(descriptor->sharedBytes, "163920");
  EXPECT_EQ(descriptor->order, "linear") << "the kernel reverses its blocks itself";
  EXPECT_TRUE(descriptor->arguments.empty()) << "the host's arguments are not the kernel's";
  ASSERT_EQ(descriptor->guards.size(), 1u);
  EXPECT_EQ(descriptor->guards[0].condition, "q.dim3 == 128");
}

TEST_F(DescribeHopper, PersistentGrid) {
  auto descriptor = describe("%n: i32 {fa.source = \"blocks\"}", std::string("fa.persistent, ") + scheduled);
  ASSERT_TRUE(mlir::succeeded(descriptor)) << error;
  EXPECT_EQ(descriptor->grid[0], "min((ceildiv(q.dim2, 128) * 8), multiprocessors)");
  ASSERT_EQ(descriptor->arguments.size(), 1u);
  EXPECT_EQ(descriptor->arguments[0].kind, Kind::Scalar);
  EXPECT_EQ(descriptor->arguments[0].expression, "(ceildiv(q.dim2, 128) * 8)");
  EXPECT_EQ(descriptor->arguments[0].type, fa::DType::I32);
}

TEST_F(DescribeHopper, TensorMaps) {
  auto descriptor = describe("%q: !hopper.tensor_map<128x64xbf16> {fa.source = \"tensor_map 0\"}", scheduled);
  ASSERT_TRUE(mlir::succeeded(descriptor)) << error;
  ASSERT_EQ(descriptor->arguments.size(), 1u);
  const KernelArgument &map = descriptor->arguments[0];
  EXPECT_EQ(map.kind, Kind::TensorMap);
  EXPECT_EQ(map.tensor, "q");
  EXPECT_EQ(map.box, (std::vector<int64_t>{64, 128, 1, 1}));
  EXPECT_EQ(map.swizzle, 128);
}

TEST_F(DescribeHopper, MemRefsPassTheirOpenStrides) {
  auto descriptor = describe("%lse: memref<1x8x4096xf32> {fa.source = \"memref 1\"}, "
                             "%bias: memref<1x?x?xf32, strided<[?, ?, 1], offset: ?>> {fa.source = \"memref 2\"}",
                             scheduled);
  ASSERT_TRUE(mlir::succeeded(descriptor)) << error;
  ASSERT_EQ(descriptor->arguments.size(), 4u);
  EXPECT_EQ(descriptor->arguments[0].kind, Kind::Pointer);
  EXPECT_EQ(descriptor->arguments[0].tensor, "lse");
  EXPECT_EQ(descriptor->arguments[1].kind, Kind::Pointer);
  EXPECT_EQ(descriptor->arguments[1].tensor, "bias");
  for (int dim : {0, 1}) {
    EXPECT_EQ(descriptor->arguments[2 + dim].kind, Kind::Stride);
    EXPECT_EQ(descriptor->arguments[2 + dim].tensor, "bias");
    EXPECT_EQ(descriptor->arguments[2 + dim].dim, dim);
  }
}

TEST_F(DescribeHopper, DimsAreGuardedAndScalarsKeepTheirTypes) {
  auto descriptor = describe("%n: i32 {fa.source = \"dim 0 2\"}, %scale: f32 {fa.source = \"scalar 3\"}, "
                             "%length: index {fa.source = \"scalar 4\"}",
                             scheduled);
  ASSERT_TRUE(mlir::succeeded(descriptor)) << error;
  ASSERT_EQ(descriptor->arguments.size(), 3u);
  EXPECT_EQ(descriptor->arguments[0].expression, "q.dim2");
  EXPECT_EQ(descriptor->arguments[0].type, fa::DType::I32);
  ASSERT_EQ(descriptor->guards.size(), 2u);
  EXPECT_EQ(descriptor->guards[1].condition, "q.dim2 < 536870912");
  EXPECT_EQ(descriptor->arguments[1].scalar, "scale");
  EXPECT_EQ(descriptor->arguments[1].type, fa::DType::F32);
  EXPECT_EQ(descriptor->arguments[2].scalar, "length");
  EXPECT_EQ(descriptor->arguments[2].type, fa::DType::I32) << "an index has 32 bits in a hopper kernel";
}

TEST_F(DescribeHopper, TheDescriptorIsOneThatTheRuntimeReads) {
  auto descriptor = describe("%q: !hopper.tensor_map<128x64xbf16> {fa.source = \"tensor_map 0\"}, "
                             "%n: i32 {fa.source = \"dim 0 2\"}",
                             scheduled);
  ASSERT_TRUE(mlir::succeeded(descriptor)) << error;
  const fa::Expected<LaunchDescriptor> read = LaunchDescriptor::fromJson(descriptor->toJson());
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->toJson(), descriptor->toJson());
}

TEST_F(DescribeHopper, Refusals) {
  const auto refused = [&](const std::string &arguments, const std::string &attributes) {
    error.clear();
    EXPECT_TRUE(mlir::failed(describe(arguments, attributes))) << arguments;
    return error;
  };
  EXPECT_EQ(refused("", "known_block_size = array<i32: 384, 1, 1>"),
            "expected a kernel with shared memory assigned; run hopper-allocate-shared");
  EXPECT_EQ(refused("", "hopper.shared_bytes = 0 : i64"),
            "expected a kernel with a known block size; run convert-fa-to-hopper");
  const std::string where = "expected argument 0 to say where it comes from ('fa.source')";
  EXPECT_EQ(refused("%a: f32", scheduled), where);
  for (const char *source : {"scalar", "scalar 5", "scalar -1", "scalar x", "dim 0 x", "other 1", ""})
    EXPECT_EQ(refused("%a: f32 {fa.source = \"" + std::string(source) + "\"}", scheduled), where) << source;
}
