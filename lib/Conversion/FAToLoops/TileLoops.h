// Tiles as loops over scratch memory: what each tile operation does to the scratch of its state.
#pragma once
#include "ScoreLoops.h"

namespace mlir::fa::loops {

/// The three buffers of one `!fa.state`.
struct StateScratch {
  Value accumulator; ///< rows x depth
  Value reference;   ///< rows
  Value sum;         ///< rows
  bool operator==(const StateScratch &) const = default;
};

StateScratch emitAllocate(ImplicitLocOpBuilder &b, StateType type);
void emitFree(ImplicitLocOpBuilder &b, const StateScratch &scratch);

/// fa.init: accumulator 0, reference -inf, sum 0.
void emitInit(ImplicitLocOpBuilder &b, const StateScratch &scratch, StateType type);
/// fa.step.
LogicalResult emitStep(ImplicitLocOpBuilder &b, StepOp op, const StateScratch &scratch);
/// fa.finish.
void emitFinish(ImplicitLocOpBuilder &b, FinishOp op, const StateScratch &scratch);
/// fa.load_state: rows that exist, memory to scratch.
void emitLoadState(ImplicitLocOpBuilder &b, LoadStateOp op, const StateScratch &scratch);
/// fa.store_state: rows that exist, scratch to memory.
void emitStoreState(ImplicitLocOpBuilder &b, StoreStateOp op, const StateScratch &scratch);
/// fa.combine.
void emitCombine(ImplicitLocOpBuilder &b, CombineOp op);

} // namespace mlir::fa::loops
