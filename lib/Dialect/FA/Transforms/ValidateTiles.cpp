// fa-validate-tiles: translation validation of tile loops for given sizes, by enumeration.
#include "fa/Analysis/TileMap.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {
#define GEN_PASS_DEF_VALIDATETILESPASS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Enumeration folds every operation of a mask for every pair: about a million of them per second.
static constexpr int64_t kMaxPairs = int64_t(1) << 24;

namespace {
struct ValidateTilesPass : fa::impl::ValidateTilesPassBase<ValidateTilesPass> {
  using ValidateTilesPassBase::ValidateTilesPassBase;

  void runOnOperation() override {
    AttentionOp stated;
    if (!spec.empty()) {
      auto function = getOperation().lookupSymbol<func::FuncOp>(spec);
      if (function)
        function.walk([&](AttentionOp op) { stated = op; });
      if (!stated) {
        getOperation().emitError() << "expected a function @" << spec << " with an fa.attention, but found none";
        return signalPassFailure();
      }
    }
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      bool tiled =
          !function.getBody().empty() && function.walk([](StepOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (tiled && failed(validate(function, stated)))
        return signalPassFailure();
    }
  }

private:
  /// Sizes, data and arguments that the IR leaves open come from the options.
  ScalarEvaluator makeEvaluator(func::FuncOp function) {
    ScalarEvaluator evaluator;
    llvm::DenseSet<Value> queries, keys;
    function.walk([&](StepOp step) {
      queries.insert(step.getQuery());
      keys.insert(step.getKey());
      keys.insert(step.getValue());
    });
    evaluator.sizeOf = [=, this](Value buffer, int64_t dim) -> FailureOr<int64_t> {
      if (dim == 0 || dim == 1)
        return int64_t(dim == 0 ? batch : heads);
      if (dim == 2 && (queries.contains(buffer) || keys.contains(buffer)))
        return int64_t(queries.contains(buffer) ? sq : sk);
      return failure();
    };
    auto constant = [this](Type type) -> FailureOr<Attribute> {
      if (!isa<IntegerType, IndexType>(type))
        return failure();
      return Attribute(IntegerAttr::get(type, operand));
    };
    evaluator.argument = [=](Value argument) { return constant(argument.getType()); };
    evaluator.load = [=](Value buffer, ArrayRef<int64_t>) {
      return constant(cast<MemRefType>(buffer.getType()).getElementType());
    };
    return evaluator;
  }

  LogicalResult validate(func::FuncOp function, AttentionOp stated) {
    ScalarEvaluator evaluator = makeEvaluator(function);
    std::optional<TileGrid> grid = findTileGrid(function.getBody(), evaluator);
    if (!grid)
      return function.emitError(
          "expected known sizes, but the types leave some open; give them with the options of this pass");
    if (grid->sq * grid->sk > kMaxPairs || grid->batch * grid->heads * grid->sq * grid->sk > kMaxPairs)
      return function.emitError() << "expected at most " << kMaxPairs << " pairs to enumerate, but got " << grid->batch
                                  << " x " << grid->heads << " x " << grid->sq << " x " << grid->sk
                                  << "; use smaller sizes, or fa-run --validate";
    FailureOr<std::vector<TileMap>> maps = traceTileMaps(function.getBody(), *grid, evaluator);
    if (failed(maps))
      return failure();
    StepOp masked;
    function.walk([&](StepOp step) {
      if (!step.getMask().empty())
        masked = step;
    });
    ScalarEvaluator pairs = makeEvaluator(function);
    bool known = true;
    auto visible = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      Region *region = stated ? &stated.getMask() : masked ? &masked.getMask() : nullptr;
      bool sees = true;
      if (stated && stated.getMasksAttr())
        for (auto mask : stated.getMasksAttr().getAsRange<MaskAttrInterface>())
          sees &= mask.visible(i, j, grid->sq, grid->sk);
      if (!sees || !known || !region || region->empty())
        return sees;
      FailureOr<bool> value = pairs.evaluateMask(*region, {b, h, i, j});
      known &= succeeded(value);
      return succeeded(value) && *value;
    };
    TileCounts counts;
    std::optional<std::string> fault = validateTiles(*maps, visible, counts);
    if (!known)
      return failure();
    if (fault)
      return function.emitError() << *fault;
    function.emitRemark() << counts.describe() << ", " << counts.empty << " of the visited tiles hold no visible pair";
    return success();
  }
};
} // namespace
