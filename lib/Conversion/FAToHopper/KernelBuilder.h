// Builds the hopper kernel of a plan: arguments, rings, producer and consumers.
#pragma once
#include "KernelPlan.h"
#include "Softmax.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::fa {

class KernelBuilder {
public:
  KernelBuilder(KernelPlan &plan, ImplicitLocOpBuilder &b) : plan(plan), b(b) {}
  /// Creates the gpu.func at the builder's position.
  FailureOr<gpu::GPUFuncOp> build();

private:
  /// A block's scalar values, cloned from the fa kernel: coordinates, loop bounds, position in the rings.
  struct Block {
    IRMapping mapping;
    Value batch, head, queryRow; ///< of the block's query tile
    Value firstUse;              ///< number of ring uses by earlier blocks of this thread block
    Value queryUse;              ///< number of the query ring's use
    SmallVector<Value> uppers;   ///< per segment: upper bound of its loop
    SmallVector<Value> starts;   ///< per segment: ring uses before it, counted within the block
    Value total;                 ///< key tiles of the block (only without per-tile tests)
  };

  // KernelBuilder.cpp: arguments, block coordinates, loop over blocks, producer
  LogicalResult createArguments();
  void emitRoles();
  Value inOrder(Value number, Value count);
  void emitOnlyBlock();
  void forEachBlock(function_ref<SmallVector<Value>(Block &)> body);
  Block emitBlock(Value number, Value firstUse, Value queryUse);
  void cloneScalars(mlir::Block &from, IRMapping &mapping);
  /// The scalar values of a segment's body for one value of its induction variable (null: the loop's lower bound).
  IRMapping bodyScalars(Block &block, Segment &segment, Value inductionVariable);
  Value lowerBound(Block &block, Segment &segment);
  Value stepOf(Block &block, Segment &segment);
  SmallVector<Value> emitProducer(Block &block);
  Value loadKeyTile(Block &block, Value use, StepOp step, IRMapping &mapping);

  // ConsumerBuilder.cpp
  struct State {
    Value output; ///< accumulator fragment
    RowState rows;
    Value packed; ///< probabilities of the tile whose product with the values is still to come (overlap only)
    Value uses;   ///< ring uses so far (per-tile tests only)
  };
  /// What a block writes.
  struct Rows {
    Value packed; ///< output, rounded
    Value lse;
  };
  SmallVector<Value> emitConsumer(Block &block);
  void emitConsumerConstants(Block &block);
  State emitSerialLoops(Block &block);
  Rows emitOverlappedLoops(Block &block);
  State emitFirstTile(Block &block, Value &firstSegment);
  State emitSerialTile(Block &block, Value use, StepOp step, IRMapping &mapping, State state);
  State emitOverlappedTile(Block &block, Value use, StepOp step, IRMapping &mapping, State state, bool twoBuffers);
  State emitOverlappedLoop(Block &block, size_t number, Value firstSegment, State state);
  Value startScores(Value key);
  Value finishScores(Block &block, StepOp step, IRMapping &mapping, Value pending, Value use, int64_t stillPending,
                     bool checkBounds);
  Value applyRegions(Block &block, StepOp step, IRMapping &mapping, Value scores, bool checkBounds);
  State emptyState();
  Value rescale(Value output, Value factor);
  Rows finishRows(Value output, RowState state);
  void emitEpilogue(Block &block, Rows rows);

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value zeroFragment(VectorType type, double value = 0);
  Value sizeOf(Value memref, int64_t dim);
  Type pendingOf(VectorType fragment) { return hopper::PendingType::get(b.getContext(), fragment); }
  VectorType packedOutput() { return VectorType::get({plan.depthV() / 4}, b.getI32Type()); }
  VectorType packedScores() { return VectorType::get({plan.tileKv() / 4}, b.getI32Type()); }

  KernelPlan &plan;
  ImplicitLocOpBuilder &b;
  gpu::GPUFuncOp kernel;
  SmallVector<std::string> sources;
  SmallVector<Type> argumentTypes;
  IRMapping base;               ///< arguments of the fa kernel -> arguments of the hopper kernel
  SmallVector<Value> dimValues; ///< in the order of plan.dims
  Value queryMap, keyMap, valueMap, outputMap, lse, blocks, dynamicScale;
  Value queryRing, keyRing, valueRing;
  Value outputStaging; ///< null: the query's tile has room for the output
  Value queryLength, keyLength;
  std::optional<Block> onlyBlock;
  // Consumers only.
  std::optional<Softmax> softmax;
  Value warpgroup, tileRow, query, queryRows, clampedRows;
};

} // namespace mlir::fa
