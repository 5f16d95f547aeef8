// Warp specialisation, rings of stages on mbarriers, TMA copies and turns on named barriers.
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa::hopper;

//===- warp specialisation -----------------------------------------------------===//

void KernelLowering::initialiseBarriers(LocBuilder &b) {
  Value isThread0 = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread.tid, constant(b, 0));
  auto ifThread0 = scf::IfOp::create(b, isThread0);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifThread0.thenBlock());
  for (Value map : tensorMaps)
    NVVM::PrefetchOp::create(b, NVVM::PrefetchCacheLevelAttr{}, NVVM::CacheEvictionPriorityAttr{}, map, Value{},
                             /*tensormap=*/b.getUnitAttr());
  for (RingOp ring : kernel.getBody().getOps<RingOp>())
    for (int64_t stage = 0; stage < ring.getRing().getType().getStages(); ++stage)
      for (bool empty : {false, true}) {
        Value barrier = sharedPointer(b, barrierOffset(b, ring, constant(b, stage), empty));
        NVVM::MBarrierInitOp::create(b, barrier, constant(b, empty ? ring.getReaders() : 1), Value{});
      }
  NVVM::FenceMbarrierInitOp::create(b);
}

LogicalResult KernelLowering::lowerWarpSpecialize(LocBuilder &b, WarpSpecializeOp op) {
  Value warpgroup = arith::ShRUIOp::create(b, thread.tid, constant(b, 7));
  // The shuffle tells ptxas that the number is the same in a whole warp.
  warpgroup = NVVM::ShflOp::create(b, b.getI32Type(), constant(b, -1), warpgroup, constant(b, 0), constant(b, 31),
                                   NVVM::ShflKind::idx, UnitAttr{});
  initialiseBarriers(b);
  NVVM::Barrier0Op::create(b);
  Value isProducer = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpgroup, constant(b, 0));
  auto roles = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);

  b.setInsertionPointToStart(roles.thenBlock());
  NVVM::SetMaxRegisterOp::create(b, op.getProducerRegisters(), NVVM::SetMaxRegisterAction::decrease);
  Value isWarp0 = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread.tid, constant(b, 32));
  auto ifWarp0 = scf::IfOp::create(b, isWarp0);
  b.setInsertionPointToStart(ifWarp0.thenBlock());
  Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value{});
  auto ifElected = scf::IfOp::create(b, elected);
  Block *producer = ifElected.thenBlock();
  producer->getOperations().splice(producer->begin(), op.getProducer().front().getOperations());

  b.setInsertionPointToStart(roles.elseBlock());
  NVVM::SetMaxRegisterOp::create(b, op.getConsumerRegisters(), NVVM::SetMaxRegisterAction::increase);
  thread.inWarpgroup = arith::AndIOp::create(b, thread.tid, constant(b, threadsPerWarpgroup - 1));
  thread.lane = arith::AndIOp::create(b, thread.tid, constant(b, 31));
  thread.warp = arith::ShRUIOp::create(b, thread.inWarpgroup, constant(b, 5));
  thread.isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread.inWarpgroup, constant(b, 0));
  Value number = arith::SubIOp::create(b, warpgroup, constant(b, 1));
  op.getWarpgroup().replaceAllUsesWith(asIndex(b, number));
  Block *consumers = roles.elseBlock();
  consumers->getOperations().splice(std::prev(consumers->end()), op.getConsumers().front().getOperations());
  return success();
}

//===- rings -------------------------------------------------------------------===//

Value KernelLowering::barrierOffset(LocBuilder &b, RingOp ring, Value stage, bool empty) {
  int64_t first = *ring.getBarriers() + (empty ? 8 * ring.getRing().getType().getStages() : 0);
  return addConstant(b, arith::ShLIOp::create(b, stage, constant(b, 3)), first);
}

void KernelLowering::setTiles(LocBuilder &b, RingOp ring, Value stage, ValueRange tiles) {
  RingType type = ring.getRing().getType();
  Value offset = *ring.getOffset() ? constant(b, *ring.getOffset()) : Value{};
  Value ofStage = arith::MulIOp::create(b, stage, constant(b, type.getStageBytes()));
  offset = offset ? add(b, ofStage, offset) : ofStage;
  for (Value tile : tiles) {
    tileOffsets[tile] = offset;
    offset = addConstant(b, offset, cast<TileType>(tile.getType()).getBytes());
  }
}

void KernelLowering::waitForPhase(LocBuilder &b, Value barrier, Value parity) {
  auto loop = scf::WhileOp::create(b, TypeRange{}, ValueRange{});
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value done = NVVM::MBarrierTryWaitOp::create(b, b.getI1Type(), barrier, parity, Value{});
  Value isTrue = arith::ConstantOp::create(b, b.getBoolAttr(true));
  scf::ConditionOp::create(b, arith::XOrIOp::create(b, done, isTrue), ValueRange{});
  b.createBlock(&loop.getAfter());
  scf::YieldOp::create(b);
}

static RingOp ringOf(Value ring) { return cast<RingOp>(ring.getDefiningOp()); }

void KernelLowering::lowerAcquire(LocBuilder &b, AcquireOp op) {
  RingOp ring = ringOf(op.getRing());
  Value stage = asI32(b, op.getPosition()[0]), phase = asI32(b, op.getPosition()[1]);
  // A fresh barrier lets a wait for parity 1 pass: the first round finds every slot empty (PTX ISA 9.7.13.15).
  Value parity = arith::XOrIOp::create(b, phase, constant(b, 1));
  waitForPhase(b, sharedPointer(b, barrierOffset(b, ring, stage, /*empty=*/true)), parity);
  Value full = barrierOffset(b, ring, stage, /*empty=*/false);
  NVVM::MBarrierArriveExpectTxOp::create(b, Type{}, sharedPointer(b, full),
                                         constant(b, op.getRing().getType().getStageBytes()), NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value{});
  tileOffsets[op.getFull()] = full;
  setTiles(b, ring, stage, op.getTiles());
}

void KernelLowering::lowerWait(LocBuilder &b, WaitOp op) {
  RingOp ring = ringOf(op.getRing());
  Value stage = asI32(b, op.getPosition()[0]), phase = asI32(b, op.getPosition()[1]);
  waitForPhase(b, sharedPointer(b, barrierOffset(b, ring, stage, /*empty=*/false)), phase);
  setTiles(b, ring, stage, op.getTiles());
}

void KernelLowering::lowerRelease(LocBuilder &b, ReleaseOp op) {
  Value stage = asI32(b, op.getPosition()[0]);
  Value barrier = sharedPointer(b, barrierOffset(b, ringOf(op.getRing()), stage, /*empty=*/true));
  // Predicated, not branched around: a branch here splits the block between a product and its wait.
  assembly(b, Type{}, {barrier, thread.isFirst}, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}");
}

//===- bulk copies --------------------------------------------------------------===//

void KernelLowering::lowerTmaLoad(LocBuilder &b, TmaLoadOp op) {
  TileType tile = op.getTile().getType();
  Value barrier = sharedPointer(b, tileOffsets[op.getBarrier()]), offset = tileOffsets[op.getTile()];
  Value row = asI32(b, op.getRow()), head = asI32(b, op.getHead()), batch = asI32(b, op.getBatch());
  for (int64_t panel = 0; panel < tile.getPanels(); ++panel) {
    Value target = sharedPointer(b, addConstant(b, offset, panel * tile.getPanelBytes()));
    Value coordinates[] = {constant(b, panel * tile.getPanelColumns()), row, head, batch};
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(b, target, mapPointers[op.getMap()], coordinates, barrier,
                                                           ValueRange{}, Value{}, Value{}, NVVM::TMALoadMode::TILE,
                                                           /*isCTAOnly=*/true, NVVM::CTAGroupKindAttr{}, Value{});
  }
}

void KernelLowering::lowerTmaStore(LocBuilder &b, TmaStoreOp op) {
  TileType tile = op.getTile().getType();
  MLIRContext *context = b.getContext();
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared,
                             NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
  Value id = addConstant(b, asI32(b, op.getWarpgroup()), firstWarpgroupBarrier);
  NVVM::BarrierOp::create(b, Type{}, id, constant(b, threadsPerWarpgroup), NVVM::BarrierReductionAttr{}, Value{});
  auto ifFirst = scf::IfOp::create(b, thread.isFirst);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifFirst.thenBlock());
  Value rowBytes = arith::MulIOp::create(b, asI32(b, op.getTileRow()), constant(b, TileType::panelRowBytes));
  Value offset = add(b, tileOffsets[op.getTile()], rowBytes);
  Value row = asI32(b, op.getRow()), head = asI32(b, op.getHead()), batch = asI32(b, op.getBatch());
  for (int64_t panel = 0; panel < tile.getPanels(); ++panel) {
    Value source = sharedPointer(b, addConstant(b, offset, panel * tile.getPanelBytes()));
    Value coordinates[] = {constant(b, panel * tile.getPanelColumns()), row, head, batch};
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(b, mapPointers[op.getMap()], source, coordinates, Value{},
                                                       NVVM::TMAStoreMode::TILE, Value{});
  }
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
  NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, b.getUnitAttr());
}

//===- turns --------------------------------------------------------------------===//

void KernelLowering::lowerTurn(LocBuilder &b, Operation *op, Value warpgroup, int64_t of) {
  Value number = asI32(b, warpgroup), threads = constant(b, 2 * threadsPerWarpgroup);
  if (isa<TakeTurnOp>(op)) {
    NVVM::BarrierOp::create(b, Type{}, addConstant(b, number, firstTurnBarrier), threads, NVVM::BarrierReductionAttr{},
                            Value{});
    return;
  }
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, constant(b, of - 1));
  if (isa<FirstTurnOp>(op)) {
    auto ifLast = scf::IfOp::create(b, isLast);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifLast.thenBlock());
    NVVM::BarrierArriveOp::create(b, constant(b, firstTurnBarrier), threads);
    return;
  }
  Value next = arith::SelectOp::create(b, isLast, constant(b, 0), addConstant(b, number, 1));
  NVVM::BarrierArriveOp::create(b, addConstant(b, next, firstTurnBarrier), threads);
}
