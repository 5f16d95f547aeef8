// A walk over loops with known bounds.
#include "fa/Analysis/TileTrace.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
class Tracer {
public:
  Tracer(ScalarEvaluator &evaluator, function_ref<LogicalResult(const VisitedTile &)> visit)
      : evaluator(evaluator), visit(visit) {}

  LogicalResult walk(Region &region) {
    for (Block &block : region)
      for (Operation &op : block)
        if (failed(walk(op)))
          return failure();
    return success();
  }

private:
  ScalarEvaluator &evaluator;
  function_ref<LogicalResult(const VisitedTile &)> visit;

  FailureOr<int64_t> evaluate(OpFoldResult value) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return *constant;
    return evaluator.evaluateInteger(cast<Value>(value));
  }

  LogicalResult walk(Operation &op) {
    if (auto step = dyn_cast<StepOp>(op))
      return report(step);
    if (auto loop = dyn_cast<scf::ForallOp>(op))
      return walkForall(loop, 0);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return walkFor(loop);
    if (auto choice = dyn_cast<scf::IfOp>(op)) {
      FailureOr<int64_t> condition = evaluator.evaluateInteger(choice.getCondition());
      if (failed(condition))
        return failure();
      return walk(*condition ? choice.getThenRegion() : choice.getElseRegion());
    }
    return success();
  }

  LogicalResult walkForall(scf::ForallOp loop, unsigned dim) {
    if (dim == loop.getRank())
      return walk(loop.getRegion());
    FailureOr<int64_t> lower = evaluate(loop.getMixedLowerBound()[dim]),
                       upper = evaluate(loop.getMixedUpperBound()[dim]);
    FailureOr<int64_t> step = evaluate(loop.getMixedStep()[dim]);
    if (failed(lower) || failed(upper) || failed(step))
      return failure();
    return iterate(loop.getInductionVars()[dim], *lower, *upper, *step, [&] { return walkForall(loop, dim + 1); });
  }

  LogicalResult walkFor(scf::ForOp loop) {
    FailureOr<int64_t> lower = evaluate(loop.getLowerBound()), upper = evaluate(loop.getUpperBound()),
                       step = evaluate(loop.getStep());
    if (failed(lower) || failed(upper) || failed(step))
      return failure();
    return iterate(loop.getInductionVar(), *lower, *upper, *step, [&] { return walk(loop.getRegion()); });
  }

  LogicalResult iterate(Value variable, int64_t lower, int64_t upper, int64_t step,
                        function_ref<LogicalResult()> body) {
    if (step < 1)
      return emitError(variable.getLoc()) << "expected a positive step, but got " << step;
    for (int64_t value = lower; value < upper; value += step) {
      evaluator.bind(variable, value);
      if (failed(body()))
        return failure();
    }
    return success();
  }

  LogicalResult report(StepOp step) {
    FailureOr<int64_t> batch = evaluator.evaluateInteger(step.getQueryBatch()),
                       head = evaluator.evaluateInteger(step.getQueryHead());
    FailureOr<int64_t> queryTile = evaluator.evaluateInteger(step.getQueryTile()),
                       keyTile = evaluator.evaluateInteger(step.getKeyTile());
    if (failed(batch) || failed(head) || failed(queryTile) || failed(keyTile))
      return failure();
    return visit({*batch, *head, *queryTile, *keyTile, step});
  }
};
} // namespace

LogicalResult fa::traceTiles(Region &root, ScalarEvaluator &evaluator,
                             function_ref<LogicalResult(const VisitedTile &)> visit) {
  return Tracer(evaluator, visit).walk(root);
}
