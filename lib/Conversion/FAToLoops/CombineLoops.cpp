// Emission of fa.combine: rows outside, then splits, then depth. A split that saw no key is skipped, not multiplied by
// zero.
#include "TileLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::loops;

namespace {
class CombineLowering {
public:
  CombineLowering(ImplicitLocOpBuilder &b, CombineOp op)
      : b(b), op(op), type(op.getPartialLses().getType().getElementType()), splits(emitDim(b, op.getPartialLses(), 0)) {
  }

  void run() {
    Value depth = emitDim(b, op.getOutput(), 3);
    row = memref::AllocOp::create(b, MemRefType::get({ShapedType::kDynamic}, type), depth);
    emitLoop(b, emitDim(b, op.getOutput(), 0), [&](Value n) {
      emitLoop(b, emitDim(b, op.getOutput(), 1), [&](Value h) {
        emitLoop(b, emitDim(b, op.getOutput(), 2), [&](Value i) { emitRow({n, h, i}, depth); });
      });
    });
    memref::DeallocOp::create(b, row);
  }

private:
  void emitRow(ArrayRef<Value> position, Value depth) {
    Value zero = emitFloat(b, type, 0.0);
    emitLoop(b, depth, [&](Value d) { memref::StoreOp::create(b, zero, row, d); });
    Value max = overSplits(emitMinusInfinity(b, type), [&](Value p, Value max) -> Value {
      return arith::MaximumFOp::create(b, max, loadLse(p, position));
    });
    Value sum = overSplits(zero, [&](Value p, Value sum) { return emitSplit(p, position, max, sum, depth); });
    emitFinishedRow(b, FinishedRow{row, {}, max, sum}, op.getOutput(), op.getLse(), position);
  }

  /// Adds one split to `row`; returns the sum with its weight.
  Value emitSplit(Value p, ArrayRef<Value> position, Value max, Value sum, Value depth) {
    Value lse = loadLse(p, position);
    auto choice = scf::IfOp::create(b, TypeRange{type}, emitIsVisible(b, lse), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, sum);
    b.setInsertionPointToStart(choice.thenBlock());
    Value weight = emitExp(b, lse, max);
    emitLoop(b, depth, [&](Value d) {
      SmallVector<Value> index{p};
      llvm::append_range(index, position);
      index.push_back(d);
      Value partial = memref::LoadOp::create(b, op.getPartialOutputs(), index);
      Value product = arith::MulFOp::create(b, weight, partial);
      Value old = memref::LoadOp::create(b, row, d);
      memref::StoreOp::create(b, arith::AddFOp::create(b, old, product), row, d);
    });
    scf::YieldOp::create(b, arith::AddFOp::create(b, sum, weight).getResult());
    return choice.getResult(0);
  }

  Value loadLse(Value p, ArrayRef<Value> position) {
    return memref::LoadOp::create(b, op.getPartialLses(), ValueRange{p, position[0], position[1], position[2]});
  }

  Value overSplits(Value start, llvm::function_ref<Value(Value p, Value carried)> fold) {
    return emitReduction(b, splits, start, fold);
  }

  ImplicitLocOpBuilder &b;
  CombineOp op;
  Type type;
  Value splits, row;
};
} // namespace

void loops::emitCombine(ImplicitLocOpBuilder &b, CombineOp op) { CombineLowering(b, op).run(); }
