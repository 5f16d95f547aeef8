// Recognises a tiled kernel (levels L1 to L3) and decides what its hopper form is made of.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// One loop over key tiles: its body is scalar arithmetic and one step, perhaps under a per-tile test. Or one step
/// alone, which canonicalisation makes of a loop that runs once.
struct Segment {
  scf::ForOp loop; ///< null: one step alone
  scf::IfOp test;  ///< null: every tile of the loop is visited
  StepOp step;
  SmallVector<Value> uppers; ///< upper bounds, to be added: one for each loop that was joined to this one; null: 1
};

/// A tensor size that the kernel takes as an argument.
struct DimArgument {
  unsigned argument; ///< of the fa kernel, the block number not counted
  int64_t dim;
  bool operator==(const DimArgument &) const = default;
};

struct KernelPlan {
  func::FuncOp kernel;
  ScheduleAttr schedule;
  HopperAttr target;
  FinishOp finish;
  SmallVector<Segment> segments; ///< in the order in which they run
  StepOp masked;                 ///< the step whose score and mask hold for every tile
  bool heavyFirst = false;
  /// Key tiles run from the last to the first: only the first one visited can reach past the last key.
  bool descends = false;
  SmallVector<DimArgument> dims;

  int64_t tileQ() const { return schedule.getTileQ(); }
  int64_t tileKv() const { return schedule.getTileKv(); }
  int64_t depth() const { return StepOp(masked).getQuery().getType().getDimSize(3); }
  int64_t depthV() const { return StepOp(masked).getValue().getType().getDimSize(3); }
  Type elementType() const { return StepOp(masked).getQuery().getType().getElementType(); }
  bool overlap() const { return target.getOverlap() && !hasTests(); }
  /// Where most tiles of a long sequence run: the loop without a mask, or every loop if there is none.
  bool isMainLoop(StepOp step) const {
    auto isUnmasked = [](StepOp other) { return other.getFull() || other.getMask().empty(); };
    return isUnmasked(step) || llvm::none_of(segments, [&](const Segment &other) { return isUnmasked(other.step); });
  }
  /// Two tiles in each iteration. Loops with a mask are short: they stay as they are.
  bool unrolls(const Segment &segment) const {
    StepOp step = segment.step;
    return overlap() && target.getUnroll() == 2 && segment.loop &&
           (step.getFull() || (step.getMask().empty() && descends));
  }
  bool hasTests() const {
    return llvm::any_of(segments, [](const Segment &segment) { return bool(segment.test); });
  }

  hopper::TileType queryTile() const;
  hopper::TileType keyTile() const;
  hopper::TileType valueTile() const;
  hopper::TileType outputTile() const;
  VectorType scoreFragment() const;
  VectorType outputFragment() const;
};

/// Fails with an error that says what the target cannot do and what to change.
FailureOr<KernelPlan> planKernel(func::FuncOp kernel, ScheduleAttr schedule);

/// Number of `memref` among the kernel's arguments, the block number not counted; an error if it is anything else.
FailureOr<unsigned> argumentNumber(Operation *user, Value memref);

} // namespace mlir::fa
