// fa-lower-naive: fa.attention -> scores, softmax, product with the values, over a buffer of all scores.
#include "ScoreLoops.h"
#include "fa/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_LOWERNAIVEPASS
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::loops;

namespace {
/// Lowers one fa.attention. Hidden pairs stay -inf in the score buffer through all passes; probabilities are never
/// -inf.
class NaiveLowering {
public:
  NaiveLowering(AttentionOp op) : op(op), b(op.getLoc(), op) {}

  LogicalResult run() {
    source.query = op.getQuery();
    source.key = op.getKey();
    source.value = op.getValue();
    source.accumulator = op.getAccumulatorType();
    source.score = op.getScore().empty() ? nullptr : &op.getScore();
    source.mask = op.getMask().empty() ? nullptr : &op.getMask();
    source.masks = op.getMasksAttr();
    if (failed(emitScale(b, op, op.getDynamicScale(), op.getScaleAttr(), source)))
      return failure();
    Value batch = emitDim(b, op.getQuery(), 0), heads = emitDim(b, op.getQuery(), 1);
    seqQ = emitDim(b, op.getQuery(), 2);
    seqKv = emitDim(b, op.getKey(), 2);
    allocate(batch, heads);
    // No head at all: the group is never used, but its division must not trap.
    Value headsKv = arith::MaxSIOp::create(b, emitDim(b, op.getKey(), 1), emitIndex(b, 1));
    Value group = arith::MaxSIOp::create(b, arith::DivSIOp::create(b, heads, headsKv), emitIndex(b, 1));
    LogicalResult result = success();
    auto pass = [&](llvm::function_ref<LogicalResult()> body) {
      emitLoop(b, batch, [&](Value n) {
        emitLoop(b, heads, [&](Value h) {
          source.queryBatch = source.keyBatch = n;
          source.queryHead = h;
          source.keyHead = arith::DivSIOp::create(b, h, group);
          if (failed(body()))
            result = failure();
        });
      });
    };
    pass([&] { return emitScores(); });
    pass([&] { return emitSoftmax(); });
    pass([&] { return emitProduct(); });
    for (Value buffer : {scores, references, sums, row})
      memref::DeallocOp::create(b, buffer);
    op.erase();
    return result;
  }

private:
  void allocate(Value batch, Value heads) {
    constexpr int64_t dynamic = ShapedType::kDynamic;
    Type type = source.accumulator;
    auto all = MemRefType::get({dynamic, dynamic, dynamic, dynamic}, type);
    auto stat = MemRefType::get({dynamic, dynamic, dynamic}, type);
    scores = memref::AllocOp::create(b, all, ValueRange{batch, heads, seqQ, seqKv});
    references = memref::AllocOp::create(b, stat, ValueRange{batch, heads, seqQ});
    sums = memref::AllocOp::create(b, stat, ValueRange{batch, heads, seqQ});
    row = memref::AllocOp::create(b, MemRefType::get({dynamic}, type), ValueRange{emitDim(b, op.getValue(), 3)});
  }

  LogicalResult emitScores() {
    LogicalResult result = success();
    emitLoop(b, seqQ, [&](Value i) {
      emitLoop(b, seqKv, [&](Value j) {
        FailureOr<Value> logit = emitLogit(b, source, i, j);
        if (failed(logit)) {
          result = failure();
          return;
        }
        memref::StoreOp::create(b, *logit, scores, ValueRange{source.queryBatch, source.queryHead, i, j});
      });
    });
    return result;
  }

  /// Row maximum and row sum; scores of visible pairs become probabilities.
  LogicalResult emitSoftmax() {
    emitLoop(b, seqQ, [&](Value i) {
      SmallVector<Value> position{source.queryBatch, source.queryHead, i};
      Value max = reduce(emitMinusInfinity(b, source.accumulator), [&](Value j, Value max) -> Value {
        return arith::MaximumFOp::create(b, max, loadScore(position, j));
      });
      Value sum = reduce(emitFloat(b, source.accumulator, 0.0), [&](Value j, Value sum) -> Value {
        Value logit = loadScore(position, j);
        auto choice = scf::IfOp::create(b, TypeRange{sum.getType()}, emitIsVisible(b, logit), /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(choice.elseBlock());
        scf::YieldOp::create(b, sum);
        b.setInsertionPointToStart(choice.thenBlock());
        Value p = emitRounded(b, emitExp(b, logit, max), op.getQueryType().getElementType());
        memref::StoreOp::create(b, p, scores, ValueRange{position[0], position[1], position[2], j});
        scf::YieldOp::create(b, arith::AddFOp::create(b, sum, p).getResult());
        return choice.getResult(0);
      });
      memref::StoreOp::create(b, max, references, position);
      memref::StoreOp::create(b, sum, sums, position);
    });
    return success();
  }

  LogicalResult emitProduct() {
    emitLoop(b, seqQ, [&](Value i) {
      SmallVector<Value> position{source.queryBatch, source.queryHead, i};
      Value zero = emitFloat(b, source.accumulator, 0.0);
      emitLoop(b, emitDim(b, op.getValue(), 3), [&](Value d) { memref::StoreOp::create(b, zero, row, d); });
      emitLoop(b, seqKv, [&](Value j) {
        Value p = loadScore(position, j);
        auto choice = scf::IfOp::create(b, TypeRange{}, emitIsVisible(b, p), /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(choice.thenBlock());
        emitAccumulate(b, source, row, {}, p, j);
      });
      FinishedRow finished{
          row, {}, memref::LoadOp::create(b, references, position), memref::LoadOp::create(b, sums, position)};
      emitFinishedRow(b, finished, op.getOutput(), op.getLse(), position);
    });
    return success();
  }

  Value loadScore(ArrayRef<Value> position, Value j) {
    return memref::LoadOp::create(b, scores, ValueRange{position[0], position[1], position[2], j});
  }

  /// Folds the keys of one row into a value.
  Value reduce(Value start, llvm::function_ref<Value(Value j, Value carried)> fold) {
    return emitReduction(b, seqKv, start, fold);
  }

  AttentionOp op;
  ImplicitLocOpBuilder b;
  AttentionSource source;
  Value seqQ, seqKv;
  Value scores, references, sums, row;
};

struct LowerNaive : fa::impl::LowerNaivePassBase<LowerNaive> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      if (op.hasTensorSemantics()) {
        op.emitError("expected memrefs, but got tensors").attachNote()
            << "one-shot-bufferize turns tensors into memrefs";
        return signalPassFailure();
      }
      if (failed(NaiveLowering(op).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
