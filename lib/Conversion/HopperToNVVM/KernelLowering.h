// State of the lowering of one kernel, shared by the files of this folder; one method per group of ops.
#pragma once
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::fa::hopper {
using LocBuilder = ImplicitLocOpBuilder;

/// A memref argument as the kernel sees it: a pointer to its first element and i64 strides in elements.
struct MemRefArgument {
  Value pointer;
  SmallVector<Value> strides;
};

/// Lowest and highest value.
using SignedRange = std::pair<int64_t, int64_t>;
/// A value for each of the two rows that a thread holds of a fragment.
using RowPair = std::array<Value, 2>;

/// Element `v` of a fragment lies in the thread's row (v / 2) mod 2 ...
inline int64_t rowOf(int64_t element) { return element / 2 % 2; }
/// ... and this many columns right of element 0.
int64_t columnOf(int64_t element);

/// A vector of integers: `rows[rowOf(v)] + step columnOf(v)`.
struct Positions {
  RowPair rows;
  int64_t step;
  SignedRange range; ///< of `rows`
};

/// A vector of i1: `step columnOf(v) <predicate> bounds[rowOf(v)]`.
struct Comparison {
  arith::CmpIPredicate predicate;
  int64_t step;
  RowPair bounds;
  SignedRange range; ///< of `bounds`
};

/// Values of the running thread, i32; those below `tid` exist in the consumers only.
struct ThreadValues {
  Value tid;
  Value inWarpgroup; ///< 0 .. 127
  Value lane;        ///< 0 .. 31
  Value warp;        ///< 0 .. 3, within the warpgroup
  Value isFirst;     ///< i1: thread 0 of the warpgroup
};

class KernelLowering {
public:
  KernelLowering(gpu::GPUFuncOp kernel, LLVM::GlobalOp shared) : kernel(kernel), shared(shared) {}
  /// Replaces the gpu.func by an llvm.func of the same name.
  LogicalResult run();

private:
  // HopperToNVVM.cpp: signature, dispatch
  LogicalResult lowerArguments();
  LogicalResult lowerOp(Operation *op);
  LogicalResult lowerAllocate(LocBuilder &b, AllocateOp op);
  LLVM::LLVMFuncOp makeFunction();

  // RingLowering.cpp: barriers, bulk copies, warp specialisation
  LogicalResult lowerWarpSpecialize(LocBuilder &b, WarpSpecializeOp op);
  void initialiseBarriers(LocBuilder &b);
  void lowerAcquire(LocBuilder &b, AcquireOp op);
  void lowerWait(LocBuilder &b, WaitOp op);
  void lowerRelease(LocBuilder &b, ReleaseOp op);
  void lowerTmaLoad(LocBuilder &b, TmaLoadOp op);
  void lowerTmaStore(LocBuilder &b, TmaStoreOp op);
  void lowerTurn(LocBuilder &b, Operation *op, Value warpgroup, int64_t of);
  Value barrierOffset(LocBuilder &b, RingOp ring, Value stage, bool empty);
  void setTiles(LocBuilder &b, RingOp ring, Value stage, ValueRange tiles);
  void waitForPhase(LocBuilder &b, Value barrier, Value parity);

  // GemmLowering.cpp: wgmma
  void lowerGemmSS(LocBuilder &b, GemmSSOp op);
  void lowerGemmRS(LocBuilder &b, GemmRSOp op);
  void lowerWaitGemms(LocBuilder &b, WaitGemmsOp op);
  void lowerScheduleFence(LocBuilder &b, ScheduleFenceOp op);
  Value descriptor(LocBuilder &b, Value offset, int64_t leadingBytes);

  // FragmentLowering.cpp: fragments, elementwise arithmetic on vectors
  void lowerFragmentOp(LocBuilder &b, Operation *op);
  void lowerRowReduce(LocBuilder &b, RowReduceOp op);
  void lowerQuadReduce(LocBuilder &b, QuadReduceOp op);
  void lowerStoreFragment(LocBuilder &b, StoreFragmentOp op);
  LogicalResult lowerVectorOp(LocBuilder &b, Operation *op);
  static SmallVector<Value> broadcastRows(ArrayRef<Value> rows, int64_t length);
  /// The elements of a vector or of an accumulator in flight.
  SmallVector<Value> elementsOf(Value vector);
  void setElements(LocBuilder &b, Value result, ArrayRef<Value> elements);

  // PositionLowering.cpp: integers and comparisons that are one value per row plus a constant per column
  bool lowerPositionOp(LocBuilder &b, Operation *op);
  bool lowerComparison(LocBuilder &b, arith::CmpIOp op);
  bool joinComparisons(LocBuilder &b, Operation *op);
  void setPositions(Value vector, RowPair rows, int64_t step, SignedRange range);
  const Positions *positionsOf(Value vector);
  std::optional<SmallVector<Value>> expandPositions(LocBuilder &b, Value vector);
  void expandEscapingPositions();
  SignedRange rangeOf(Value value, unsigned depth = 0);

  // MemoryLowering.cpp: loads and stores through memref arguments
  LogicalResult lowerLoad(LocBuilder &b, memref::LoadOp op);
  LogicalResult lowerGather(LocBuilder &b, GatherOp op);
  LogicalResult lowerStoreRows(LocBuilder &b, StoreRowsOp op);
  const MemRefArgument *argumentOf(Operation *op, Value memref);
  Value elementPointer(LocBuilder &b, const MemRefArgument &argument, MemRefType type, ValueRange indices);
  Value loadElement(LocBuilder &b, Value pointer, Type type);

  // IndexLowering.cpp: after everything else
  LogicalResult lowerIndexTypes();
  void lowerVectorPlumbing();

  Value constant(LocBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value constant64(LocBuilder &b, int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
  Value asI32(LocBuilder &b, Value index) { return arith::IndexCastOp::create(b, b.getI32Type(), index); }
  Value asIndex(LocBuilder &b, Value i32) { return arith::IndexCastOp::create(b, b.getIndexType(), i32); }
  Value add(LocBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value addConstant(LocBuilder &b, Value x, int64_t y) { return y == 0 ? x : add(b, x, constant(b, y)); }
  /// Pointer to a byte offset in dynamic shared memory.
  Value sharedPointer(LocBuilder &b, Value offset);
  Value assembly(LocBuilder &b, Type result, ValueRange operands, const Twine &text, const Twine &constraints);

  gpu::GPUFuncOp kernel;
  LLVM::GlobalOp shared;
  Value sharedBase;     ///< !llvm.ptr<3>
  Value sharedBaseBits; ///< i32
  ThreadValues thread;
  SmallVector<Value> tensorMaps;
  DenseMap<Value, Value> tileOffsets; ///< tile or barrier -> i32 byte offset in shared memory
  DenseMap<Value, Value> mapPointers; ///< tensor map argument -> !llvm.ptr
  DenseMap<Value, MemRefArgument> memrefs;
  DenseMap<Value, SmallVector<Value>> elements;
  DenseMap<Value, Positions> positions;    ///< vectors that have no elements yet
  DenseMap<Value, Comparison> comparisons; ///< vectors that have no elements yet
  DenseMap<Value, SignedRange> ranges;     ///< of scalars
  SmallVector<Operation *> replaced;
};

/// Lowers one scalar math op to instructions; null if this target has no form of it.
Value lowerMath(LocBuilder &b, Operation *op);

} // namespace mlir::fa::hopper
