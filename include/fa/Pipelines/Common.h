// Pipeline builders that every target shares: from fa.attention to kernels over a grid. One builder per arrow of the
// data flow (docs/Architecture.md).
#pragma once
#include "mlir/Pass/PassOptions.h"
#include <string>

namespace mlir {
class OpPassManager;
namespace fa {

/// What a user may say about a schedule; empty or 0 leaves it to the machine model.
struct ScheduleOptions : PassPipelineOptions<ScheduleOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("cpu or sm_90a"), llvm::cl::init("cpu")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("a whole #fa.schedule<...> attribute")};
  Option<int64_t> tileQ{*this, "tile-q", llvm::cl::desc("query rows per tile"), llvm::cl::init(0)};
  Option<int64_t> tileKv{*this, "tile-kv", llvm::cl::desc("keys per tile"), llvm::cl::init(0)};
  Option<std::string> order{*this, "order", llvm::cl::desc("query_outer or key_outer")};
  Option<int64_t> vectorBits{*this, "vector-bits", llvm::cl::desc("of the CPU that code is for (0: this machine)"),
                             llvm::cl::init(0)};
  Option<bool> splitKeys{*this, "split-keys", llvm::cl::desc("long keys may be split where there are few query tiles"),
                         llvm::cl::init(true)};
  Option<bool> foldGroups{*this, "fold-groups", llvm::cl::desc("one query: its grouped heads become rows of a tile"),
                          llvm::cl::init(false)};
};

/// Tensors -> memrefs (does nothing to IR that is on memrefs already).
void buildBufferizePipeline(OpPassManager &pm);
/// L0: named masks expanded, a schedule attached.
void buildSchedulePipeline(OpPassManager &pm, const ScheduleOptions &options);
/// L0 -> L1: loops over tiles.
void buildTilePipeline(OpPassManager &pm);
/// L1 -> L3: loop bounds from the mask, full tiles without masking.
void buildEliminatePipeline(OpPassManager &pm);
/// scf.forall -> kernel functions and launches.
void buildOutlinePipeline(OpPassManager &pm, const std::string &target);
/// All of the above: `fa-kernels-pipeline`.
void buildKernelsPipeline(OpPassManager &pm, const ScheduleOptions &options);

void registerCommonPipelines();

} // namespace fa
} // namespace mlir
