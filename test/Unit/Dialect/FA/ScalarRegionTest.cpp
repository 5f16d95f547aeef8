// cloneScalarRegion puts score regions on scalars and on lanes, and names what it cannot put there.
#include "fa/Dialect/FA/IR/ScalarRegion.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;

namespace {
class ScalarRegionTest : public testing::Test {
protected:
  ScalarRegionTest() {
    context.loadDialect<FADialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                        scf::SCFDialect, vector::VectorDialect>();
  }

  /// Parses an attention with the given score region body over (%s, %b, %h, %i, %j) and a captured %bias.
  void parse(StringRef body) {
    std::string text = R"(func.func @f(%q: memref<1x1x8x4xf32>, %bias: memref<?x?xf32>, %slopes: memref<?xf32>) {
      fa.attention ins(%q, %q, %q : memref<1x1x8x4xf32>, memref<1x1x8x4xf32>, memref<1x1x8x4xf32>)
        outs(%q : memref<1x1x8x4xf32>) score (%s: f32, %b: index, %h: index, %i: index, %j: index) {)" +
                       body.str() + "} return }";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    module->walk([&](AttentionOp op) { attention = op; });
  }

  /// Clones the region into a new function that takes arguments of these types.
  FailureOr<Value> clone(ArrayRef<Type> types) {
    OpBuilder builder(attention);
    SmallVector<Value> arguments;
    for (Type type : types)
      arguments.push_back(
          UnrealizedConversionCastOp::create(builder, attention.getLoc(), TypeRange(type), ValueRange()).getResult(0));
    return cloneScalarRegion(builder, attention.getScore(), arguments);
  }

  unsigned count(StringRef name) {
    unsigned found = 0;
    attention->getParentOp()->walk(
        [&](Operation *op) { found += op->getName().getStringRef() == name && !op->getParentOfType<AttentionOp>(); });
    return found;
  }

  Type f32() { return Float32Type::get(&context); }
  Type index() { return IndexType::get(&context); }
  Type lanes(Type type) { return VectorType::get({8}, type); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  AttentionOp attention;
};

constexpr char alibi[] = R"(
  %slope = memref.load %slopes[%h] : memref<?xf32>
  %d = arith.subi %j, %i : index
  %d32 = arith.index_cast %d : index to i32
  %df = arith.sitofp %d32 : i32 to f32
  %x = arith.mulf %slope, %df : f32
  %y = arith.addf %s, %x : f32
  fa.yield %y : f32)";

TEST_F(ScalarRegionTest, ScalarsStayScalars) {
  parse(alibi);
  FailureOr<Value> result = clone({f32(), index(), index(), index(), index()});
  ASSERT_TRUE(succeeded(result));
  EXPECT_TRUE(result->getType().isF32());
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(ScalarRegionTest, LanesKeepUniformWorkScalar) {
  parse(alibi);
  FailureOr<Value> result = clone({lanes(f32()), index(), index(), lanes(index()), index()});
  ASSERT_TRUE(succeeded(result));
  EXPECT_EQ(result->getType(), lanes(f32()));
  EXPECT_TRUE(succeeded(verify(*module)));
  // The slope depends on the head only: one load for all lanes.
  EXPECT_EQ(count("memref.load"), 1u);
}

TEST_F(ScalarRegionTest, LoadsAtLanePositionsBecomeGathers) {
  parse(R"(
    %x = memref.load %bias[%i, %j] : memref<?x?xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32)");
  FailureOr<Value> result = clone({lanes(f32()), index(), index(), lanes(index()), index()});
  ASSERT_TRUE(succeeded(result));
  EXPECT_EQ(count("memref.load"), 8u);
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(ScalarRegionTest, UniformResultIsBroadcast) {
  parse(R"(
    %zero = arith.constant 0.0 : f32
    fa.yield %zero : f32)");
  FailureOr<Value> result = clone({lanes(f32()), index(), index(), lanes(index()), index()});
  ASSERT_TRUE(succeeded(result));
  EXPECT_EQ(result->getType(), lanes(f32()));
}

TEST_F(ScalarRegionTest, NamesWhatHasNoElementwiseForm) {
  parse(R"(
    %c = arith.cmpi sle, %j, %i : index
    %y = scf.if %c -> f32 {
      scf.yield %s : f32
    } else {
      %z = arith.constant 0.0 : f32
      scf.yield %z : f32
    }
    fa.yield %y : f32)");
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) { message += diag.str(); });
  EXPECT_TRUE(failed(clone({lanes(f32()), index(), index(), lanes(index()), index()})));
  EXPECT_NE(message.find("'scf.if' has no form on vector lanes"), std::string::npos) << message;
}
} // namespace
