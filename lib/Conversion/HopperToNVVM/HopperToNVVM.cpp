// convert-hopper-to-nvvm: kernel signatures and dispatch; the groups of ops are in the other files of this folder.
#include "KernelLowering.h"
#include "fa/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTHOPPERTONVVMPASS
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa::hopper;

Value KernelLowering::sharedPointer(LocBuilder &b, Value offset) {
  return LLVM::GEPOp::create(b, sharedBase.getType(), b.getI8Type(), sharedBase, ArrayRef<LLVM::GEPArg>{offset});
}

//===- signature -----------------------------------------------------------------===//

/// Appends to the entry block what the device passes for each argument and rewires the uses.
LogicalResult KernelLowering::lowerArguments() {
  Block &entry = kernel.getBody().front();
  LocBuilder b(kernel.getLoc(), kernel.getContext());
  b.setInsertionPointToStart(&entry);
  auto globalPointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  SmallVector<BlockArgument> old(entry.getArguments());
  for (BlockArgument argument : old) {
    Type type = argument.getType();
    if (isa<TensorMapType>(type)) {
      Value pointer = entry.addArgument(LLVM::LLVMPointerType::get(b.getContext()), argument.getLoc());
      mapPointers[argument] = pointer;
      tensorMaps.push_back(pointer);
    } else if (auto memref = dyn_cast<MemRefType>(type)) {
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(memref.getStridesAndOffset(strides, offset)))
        return kernel.emitError("expected a strided memref, but got ") << memref;
      MemRefArgument &lowered = memrefs[argument];
      lowered.pointer = entry.addArgument(globalPointer, argument.getLoc());
      for (int64_t stride : strides)
        lowered.strides.push_back(ShapedType::isDynamic(stride) ? entry.addArgument(b.getI64Type(), argument.getLoc())
                                                                : constant64(b, stride));
    } else if (type.isIndex()) {
      Value size = asIndex(b, entry.addArgument(b.getI32Type(), argument.getLoc()));
      if (kernel.getArgAttr(argument.getArgNumber(), lengthAttrName))
        ranges[size] = {0, largestLength};
      argument.replaceAllUsesWith(size);
    } else if (type.isIntOrFloat()) {
      argument.replaceAllUsesWith(entry.addArgument(type, argument.getLoc()));
    } else {
      return kernel.emitError("expected arguments to be tensor maps, memrefs, index or numbers, but got ") << type;
    }
  }
  return success();
}

LLVM::LLVMFuncOp KernelLowering::makeFunction() {
  MLIRContext *context = kernel.getContext();
  Block &entry = kernel.getBody().front();
  entry.eraseArguments(0, kernel.getNumArguments());
  OpBuilder b(kernel);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), SmallVector<Type>(entry.getArgumentTypes()));
  auto function = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), kernel.getName(), type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), kernel.getKnownBlockSizeAttr());
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  if (Attribute bytes = kernel->getAttr(sharedBytesAttrName))
    function->setAttr(sharedBytesAttrName, bytes);
  for (BlockArgument argument : entry.getArguments()) {
    if (!llvm::is_contained(tensorMaps, argument))
      continue;
    unsigned number = argument.getArgNumber();
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
    function.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
  function.getBody().takeBody(kernel.getBody());
  kernel.erase();
  return function;
}

//===- dispatch --------------------------------------------------------------------===//

/// Whether the op works on fragments and is neither ours nor control flow.
static bool isVectorOp(Operation *op) {
  if (isa<scf::SCFDialect>(op->getDialect()) || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  return llvm::any_of(op->getResultTypes(), isVector) || isa<vector::VectorDialect>(op->getDialect());
}

static LogicalResult lowerGpuOp(LocBuilder &b, Operation *op) {
  auto replaceByRegister = [&](auto special) {
    Value value = special;
    op->getResult(0).replaceAllUsesWith(arith::IndexCastOp::create(b, b.getIndexType(), value).getResult());
    return success();
  };
  if (auto id = dyn_cast<gpu::BlockIdOp>(op); id && id.getDimension() == gpu::Dimension::x)
    return replaceByRegister(NVVM::BlockIdXOp::create(b, b.getI32Type()));
  if (auto dim = dyn_cast<gpu::GridDimOp>(op); dim && dim.getDimension() == gpu::Dimension::x)
    return replaceByRegister(NVVM::GridDimXOp::create(b, b.getI32Type()));
  if (isa<gpu::ReturnOp>(op)) {
    LLVM::ReturnOp::create(b, ValueRange{});
    return success();
  }
  return op->emitError("expected gpu.block_id x, gpu.grid_dim x or gpu.return in a kernel, but got '")
         << op->getName() << "'";
}

/// The position must be stage and phase, the ring placed.
template <typename OpT> static LogicalResult verifyAssigned(OpT op) {
  if (op.getPosition().size() != 2)
    return op.emitError("expected stage and phase, but got the number of a use; run hopper-assign-stages");
  auto ring = op.getRing().template getDefiningOp<RingOp>();
  if (!ring || !ring.getOffset() || !ring.getBarriers())
    return op.emitError("expected a ring with a place in shared memory, but got none; run hopper-allocate-shared");
  return success();
}

LogicalResult KernelLowering::lowerAllocate(LocBuilder &b, AllocateOp op) {
  if (!op.getOffset())
    return op.emitError("expected a tile with a place in shared memory, but got none; run hopper-allocate-shared");
  tileOffsets[op.getTile()] = constant(b, *op.getOffset());
  return success();
}

LogicalResult KernelLowering::lowerOp(Operation *op) {
  LocBuilder b(op->getLoc(), op);
  auto done = [](auto &&...) { return success(); };
  if (!isa<AcquireOp, WaitOp, WarpSpecializeOp, RingOp, AllocateOp, TmaLoadOp>(op) &&
      isa<HopperDialect>(op->getDialect()) && !thread.lane)
    return op->emitError("expected to be in the consumers of hopper.warp_specialize");
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](WarpSpecializeOp o) { return lowerWarpSpecialize(b, o); })
      .Case([&](RingOp) { return success(); })
      .Case([&](AllocateOp o) { return lowerAllocate(b, o); })
      .Case([&](AcquireOp o) { return failed(verifyAssigned(o)) ? failure() : (lowerAcquire(b, o), success()); })
      .Case([&](WaitOp o) { return failed(verifyAssigned(o)) ? failure() : (lowerWait(b, o), success()); })
      .Case([&](ReleaseOp o) { return failed(verifyAssigned(o)) ? failure() : (lowerRelease(b, o), success()); })
      .Case([&](TmaLoadOp o) { return done((lowerTmaLoad(b, o), 0)); })
      .Case([&](TmaStoreOp o) { return done((lowerTmaStore(b, o), 0)); })
      .Case([&](ViewOp o) { return done(tileOffsets[o.getResult()] = tileOffsets[o.getTile()]); })
      .Case<FirstTurnOp, TakeTurnOp, PassTurnOp>(
          [&](auto o) { return done((lowerTurn(b, o, o.getWarpgroup(), o.getOf()), 0)); })
      .Case([&](GemmSSOp o) { return done((lowerGemmSS(b, o), 0)); })
      .Case([&](GemmRSOp o) { return done((lowerGemmRS(b, o), 0)); })
      .Case([&](WaitGemmsOp o) { return done((lowerWaitGemms(b, o), 0)); })
      .Case([&](ScheduleFenceOp o) { return done((lowerScheduleFence(b, o), 0)); })
      .Case<FragmentRowsOp, FragmentColumnsOp, RowBroadcastOp, PackOp>(
          [&](auto o) { return done((lowerFragmentOp(b, o), 0)); })
      .Case([&](RowReduceOp o) { return done((lowerRowReduce(b, o), 0)); })
      .Case([&](QuadReduceOp o) { return done((lowerQuadReduce(b, o), 0)); })
      .Case([&](StoreFragmentOp o) { return done((lowerStoreFragment(b, o), 0)); })
      .Case([&](AnyOp o) {
        Value any =
            NVVM::VoteSyncOp::create(b, b.getI1Type(), constant(b, -1), o.getCondition(), NVVM::VoteSyncKind::any);
        o.getResult().replaceAllUsesWith(any);
        return success();
      })
      .Case([&](StoreRowsOp o) { return lowerStoreRows(b, o); })
      .Case([&](GatherOp o) { return lowerGather(b, o); })
      .Case([&](memref::LoadOp o) { return lowerLoad(b, o); })
      .Default(
          [&](Operation *o) { return isa<gpu::GPUDialect>(o->getDialect()) ? lowerGpuOp(b, o) : lowerVectorOp(b, o); });
}

LogicalResult KernelLowering::run() {
  if (failed(lowerArguments()))
    return failure();
  {
    LocBuilder b(kernel.getLoc(), kernel.getContext());
    b.setInsertionPointToStart(&kernel.getBody().front());
    sharedBase = LLVM::AddressOfOp::create(b, shared);
    sharedBaseBits = LLVM::PtrToIntOp::create(b, b.getI32Type(), sharedBase);
    thread.tid = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  }
  SmallVector<Operation *> ops;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<HopperDialect, gpu::GPUDialect>(op->getDialect()) || isa<memref::LoadOp>(op) || isVectorOp(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (failed(lowerOp(op)))
      return failure();
    replaced.push_back(op);
  }
  expandEscapingPositions();
  for (Operation *op : replaced)
    op->dropAllUses();
  for (Operation *op : llvm::reverse(replaced))
    op->erase();

  SmallVector<Operation *> maths;
  kernel.getBody().walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()))
      maths.push_back(op);
  });
  for (Operation *op : maths) {
    LocBuilder b(op->getLoc(), op);
    Value lowered = lowerMath(b, op);
    if (!lowered)
      return op->emitError("expected a math operation with a lowering to sm_90a, but got '")
             << op->getName() << "' on " << op->getOperand(0).getType();
    op->getResult(0).replaceAllUsesWith(lowered);
    op->erase();
  }
  lowerVectorPlumbing();
  if (failed(lowerIndexTypes()))
    return failure();
  makeFunction();
  return success();
}

namespace {
/// Dynamic shared memory: its size is a launch parameter, its alignment that of the swizzle pattern.
LLVM::GlobalOp declareSharedMemory(gpu::GPUModuleOp module) {
  OpBuilder b(&module.getBodyRegion().front(), module.getBodyRegion().front().begin());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  return LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External,
                                "hopper_shared", Attribute{}, /*alignment=*/1024, /*addrSpace=*/3);
}

struct ConvertHopperToNVVM : fa::impl::ConvertHopperToNVVMPassBase<ConvertHopperToNVVM> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    SmallVector<gpu::GPUFuncOp> kernels;
    for (auto kernel : module.getOps<gpu::GPUFuncOp>())
      if (!kernel.getBody().getOps<WarpSpecializeOp>().empty())
        kernels.push_back(kernel);
    if (kernels.empty())
      return;
    LLVM::GlobalOp shared = declareSharedMemory(module);
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(KernelLowering(kernel, shared).run()))
        return signalPassFailure();
  }
};
} // namespace
