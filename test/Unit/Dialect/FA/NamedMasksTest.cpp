// The two methods of every named mask, the IR predicate and the plain C++ one, agree on all small positions.
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Evaluates the arithmetic that predicates are made of.
int64_t evaluate(Value value, const std::map<void *, int64_t> &arguments) {
  if (auto found = arguments.find(value.getAsOpaquePointer()); found != arguments.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return value.getType().isInteger(1) ? !cast<IntegerAttr>(constant.getValue()).getValue().isZero()
                                        : cast<IntegerAttr>(constant.getValue()).getInt();
  int64_t lhs = evaluate(op->getOperand(0), arguments), rhs = evaluate(op->getOperand(1), arguments);
  if (isa<arith::AddIOp>(op))
    return lhs + rhs;
  if (isa<arith::SubIOp>(op))
    return lhs - rhs;
  if (isa<arith::AndIOp>(op))
    return lhs & rhs;
  auto compare = cast<arith::CmpIOp>(op);
  if (compare.getPredicate() == arith::CmpIPredicate::sle)
    return lhs <= rhs;
  EXPECT_EQ(compare.getPredicate(), arith::CmpIPredicate::sge);
  return lhs >= rhs;
}

class NamedMasksTest : public testing::Test {
protected:
  NamedMasksTest() { context.loadDialect<FADialect, arith::ArithDialect, func::FuncDialect>(); }

  void expectAgreement(MaskAttrInterface mask) {
    OpBuilder builder(&context);
    Location loc = builder.getUnknownLoc();
    SmallVector<Type> types(4, builder.getIndexType());
    OwningOpRef<func::FuncOp> function = func::FuncOp::create(loc, "f", builder.getFunctionType(types, {}));
    Block *block = function->addEntryBlock();
    builder.setInsertionPointToStart(block);
    Value keep = mask.buildPredicate(builder, loc, block->getArgument(0), block->getArgument(1), block->getArgument(2),
                                     block->getArgument(3));
    for (int64_t seqQ = 1; seqQ <= 7; ++seqQ)
      for (int64_t seqKv = 1; seqKv <= 7; ++seqKv)
        for (int64_t i = 0; i < seqQ; ++i)
          for (int64_t j = 0; j < seqKv; ++j) {
            const int64_t numbers[] = {i, j, seqQ, seqKv};
            std::map<void *, int64_t> arguments;
            for (auto [position, number] : llvm::enumerate(numbers))
              arguments[block->getArgument(position).getAsOpaquePointer()] = number;
            ASSERT_EQ(evaluate(keep, arguments) != 0, mask.visible(i, j, seqQ, seqKv))
                << "i=" << i << " j=" << j << " Sq=" << seqQ << " Sk=" << seqKv;
          }
  }

  MLIRContext context;
};

TEST_F(NamedMasksTest, CausalAgrees) {
  for (Corner corner : {Corner::TopLeft, Corner::BottomRight})
    expectAgreement(CausalAttr::get(&context, corner));
}

TEST_F(NamedMasksTest, WindowAgrees) {
  SmallVector<std::optional<int64_t>> bounds{std::nullopt, 0, 1, 2, 3, 9};
  for (Corner corner : {Corner::TopLeft, Corner::BottomRight})
    for (std::optional<int64_t> left : bounds)
      for (std::optional<int64_t> right : bounds)
        expectAgreement(WindowAttr::get(&context, left, right, corner));
}

TEST_F(NamedMasksTest, CausalCornersDifferWithUnequalLengths) {
  auto topLeft = CausalAttr::get(&context, Corner::TopLeft),
       bottomRight = CausalAttr::get(&context, Corner::BottomRight);
  EXPECT_FALSE(topLeft.visible(0, 1, 2, 4));
  EXPECT_TRUE(bottomRight.visible(0, 2, 2, 4));
  EXPECT_FALSE(bottomRight.visible(0, 3, 2, 4));
  // More queries than keys: the top rows see nothing.
  EXPECT_FALSE(bottomRight.visible(0, 0, 5, 2));
  EXPECT_TRUE(bottomRight.visible(3, 0, 5, 2));
}

TEST_F(NamedMasksTest, WindowBoundsAreInclusive) {
  auto window = WindowAttr::get(&context, 2, 0, Corner::TopLeft);
  EXPECT_TRUE(window.visible(5, 3, 6, 6));
  EXPECT_FALSE(window.visible(5, 2, 6, 6));
  EXPECT_FALSE(window.visible(3, 4, 6, 6));
}
} // namespace
