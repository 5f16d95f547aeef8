// Launch descriptors made from IR: expressions, arguments, guards, refusals.
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;

namespace {
class DescribeLaunchTest : public testing::Test {
protected:
  DescribeLaunchTest() {
    context.loadDialect<FADialect, func::FuncDialect, arith::ArithDialect, affine::AffineDialect, memref::MemRefDialect,
                        scf::SCFDialect>();
  }

  FailureOr<::fa::LaunchDescriptor> describe(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    PassManager pm(&context);
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createExpandMasksPass());
    pm.addPass(createSelectSchedulePass());
    pm.addPass(createTileAttentionPass());
    pm.addPass(createCSEPass());
    pm.addPass(createOutlineKernelsPass());
    pm.addPass(createCanonicalizerPass());
    EXPECT_TRUE(succeeded(pm.run(*module)));
    LaunchOp launch;
    module->walk([&](LaunchOp op) { launch = op; });
    EXPECT_TRUE(launch);
    return describeLaunch(launch);
  }

  static int64_t grid(const ::fa::LaunchDescriptor &descriptor, std::map<std::string, int64_t> values) {
    auto result = ::fa::evaluateExpression(descriptor.grid[0], [&](const std::string &name) -> std::optional<int64_t> {
      auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    });
    EXPECT_TRUE(bool(result));
    return result ? *result : -1;
  }

  static bool hasGuard(const ::fa::LaunchDescriptor &descriptor, StringRef condition) {
    return llvm::any_of(descriptor.guards, [&](const ::fa::Guard &g) { return g.condition == condition; });
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr char dynamicAttention[] = R"(
  func.func @attention(%q: memref<?x8x?x64xf32> {fa.name = "q"}, %k: memref<?x2x?x64xf32> {fa.name = "k"},
                       %v: memref<?x2x?x64xf32> {fa.name = "v"}, %o: memref<?x8x?x64xf32> {fa.name = "o"},
                       %scale: f32 {fa.name = "scale"}) {
    fa.attention ins(%q, %k, %v : memref<?x8x?x64xf32>, memref<?x2x?x64xf32>, memref<?x2x?x64xf32>)
      outs(%o : memref<?x8x?x64xf32>) scale(%scale : f32) masks [#fa.causal<bottom_right>]
      schedule(#fa.schedule<tile_q = 128, tile_kv = 64>)
    return
  })";

TEST_F(DescribeLaunchTest, GridIsAnExpressionOverSizes) {
  auto descriptor = describe(dynamicAttention);
  ASSERT_TRUE(succeeded(descriptor));
  EXPECT_EQ(descriptor->entry, "attention_kernel");
  EXPECT_EQ(descriptor->abi, "so");
  EXPECT_EQ(descriptor->order, "heavy_first");
  EXPECT_EQ(grid(*descriptor, {{"q.dim0", 3}, {"q.dim2", 129}}), 3 * 8 * 2);
  EXPECT_EQ(grid(*descriptor, {{"q.dim0", 3}, {"q.dim2", 0}}), 0);
}

TEST_F(DescribeLaunchTest, ArgumentsKeepNamesAndOrder) {
  auto descriptor = describe(dynamicAttention);
  ASSERT_TRUE(succeeded(descriptor));
  ASSERT_EQ(descriptor->arguments.size(), 5u);
  const char *names[] = {"q", "k", "v", "o"};
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(descriptor->arguments[n].kind, ::fa::KernelArgument::Kind::MemRef);
    EXPECT_EQ(descriptor->arguments[n].tensor, names[n]);
    EXPECT_EQ(descriptor->arguments[n].rank, 4);
  }
  EXPECT_EQ(descriptor->arguments[4].kind, ::fa::KernelArgument::Kind::Scalar);
  EXPECT_EQ(descriptor->arguments[4].scalar, "scale");
  EXPECT_EQ(descriptor->arguments[4].type, ::fa::DType::F32);
}

TEST_F(DescribeLaunchTest, GuardsCoverStaticSizesAndAgreement) {
  auto descriptor = describe(dynamicAttention);
  ASSERT_TRUE(succeeded(descriptor));
  EXPECT_TRUE(hasGuard(*descriptor, "q.dim3 == 64"));
  EXPECT_TRUE(hasGuard(*descriptor, "k.dim1 == 2"));
  EXPECT_TRUE(hasGuard(*descriptor, "q.dim0 == k.dim0"));
  EXPECT_TRUE(hasGuard(*descriptor, "k.dim2 == v.dim2"));
  EXPECT_TRUE(hasGuard(*descriptor, "q.dim2 == o.dim2"));
  for (const ::fa::Guard &guard : descriptor->guards)
    EXPECT_FALSE(guard.remedy.empty()) << guard.condition;
}

TEST_F(DescribeLaunchTest, SurvivesItsOwnJson) {
  auto descriptor = describe(dynamicAttention);
  ASSERT_TRUE(succeeded(descriptor));
  auto again = ::fa::LaunchDescriptor::fromJson(descriptor->toJson());
  ASSERT_TRUE(bool(again)) << again.message();
  EXPECT_EQ(again->toJson(), descriptor->toJson());
}

TEST_F(DescribeLaunchTest, RefusesWorkTheRuntimeWouldLose) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) { message += diag.str(); });
  auto descriptor = describe(R"(
    func.func @attention(%q: memref<1x1x4x4xf32>, %count: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      memref.store %c0, %count[%c0] : memref<1xindex>
      fa.attention ins(%q, %q, %q : memref<1x1x4x4xf32>, memref<1x1x4x4xf32>, memref<1x1x4x4xf32>)
        outs(%q : memref<1x1x4x4xf32>)
      return
    })");
  EXPECT_TRUE(failed(descriptor));
  EXPECT_NE(message.find("but got 'memref.store'"), std::string::npos) << message;
}
} // namespace
