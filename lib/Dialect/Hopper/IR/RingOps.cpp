// Verifiers and text of warp specialisation, rings, bulk copies and turns.
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::fa::hopper;

//===- warp_specialize ---------------------------------------------------------===//

void WarpSpecializeOp::build(OpBuilder &builder, OperationState &state, int64_t warpgroups, int64_t producerRegisters,
                             int64_t consumerRegisters) {
  state.addAttribute(getWarpgroupsAttrName(state.name), builder.getI32IntegerAttr(warpgroups));
  state.addAttribute(getProducerRegistersAttrName(state.name), builder.getI32IntegerAttr(producerRegisters));
  state.addAttribute(getConsumerRegistersAttrName(state.name), builder.getI32IntegerAttr(consumerRegisters));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(state.addRegion());
  builder.createBlock(state.addRegion(), {}, {builder.getIndexType()}, {state.location});
}

static ParseResult parseCount(OpAsmParser &parser, StringRef keyword, StringAttr name, OperationState &result) {
  IntegerAttr count;
  if ((!keyword.empty() && (parser.parseKeyword(keyword) || parser.parseLParen())) ||
      parser.parseAttribute(count, parser.getBuilder().getIntegerType(32), name, result.attributes) ||
      (!keyword.empty() && parser.parseRParen()))
    return failure();
  return success();
}

ParseResult WarpSpecializeOp::parse(OpAsmParser &parser, OperationState &result) {
  Region *producer = result.addRegion(), *consumers = result.addRegion();
  OpAsmParser::Argument warpgroup;
  warpgroup.type = parser.getBuilder().getIndexType();
  if (parser.parseKeyword("producer") ||
      parseCount(parser, "registers", getProducerRegistersAttrName(result.name), result) ||
      parser.parseRegion(*producer) || parser.parseKeyword("consumers") || parser.parseLParen() ||
      parser.parseArgument(warpgroup) || parser.parseRParen() || parser.parseKeyword("of") ||
      parseCount(parser, "", getWarpgroupsAttrName(result.name), result) ||
      parseCount(parser, "registers", getConsumerRegistersAttrName(result.name), result) ||
      parser.parseRegion(*consumers, {warpgroup}) || parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (producer->empty())
    producer->emplaceBlock();
  return success();
}

void WarpSpecializeOp::print(OpAsmPrinter &printer) {
  printer << " producer registers(" << getProducerRegisters() << ") ";
  printer.printRegion(getProducer());
  printer << " consumers(";
  printer.printRegionArgument(getWarpgroup(), {}, /*omitType=*/true);
  printer << ") of " << getWarpgroups() << " registers(" << getConsumerRegisters() << ") ";
  printer.printRegion(getConsumers(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {getWarpgroupsAttrName(), getProducerRegistersAttrName(), getConsumerRegistersAttrName()});
}

LogicalResult WarpSpecializeOp::verify() {
  int64_t warpgroups = getWarpgroups();
  if (warpgroups < 1 || warpgroups > 3)
    return emitOpError("expected 1, 2 or 3 consumer warpgroups, but got ") << warpgroups; // (C1)
  for (int64_t count : {getProducerRegisters(), getConsumerRegisters()})
    if (count < 24 || count > 256 || count % 8 != 0)
      return emitOpError("expected register counts to be multiples of 8 from 24 to 256, but got ") << count; // (C2)
  int64_t total = threadsPerWarpgroup * (getProducerRegisters() + warpgroups * getConsumerRegisters());
  if (total > 65536)
    return emitOpError("expected at most 65536 registers in a block, but got ") << total; // (C2)
  auto kernel = (*this)->getParentOfType<gpu::GPUFuncOp>();
  auto block = kernel.getKnownBlockSizeAttr();
  int64_t threads = threadsPerWarpgroup * (warpgroups + 1);
  if (!block || block.asArrayRef().size() != 3 || block.asArrayRef()[0] != threads || block.asArrayRef()[1] != 1 ||
      block.asArrayRef()[2] != 1) { // (C3)
    InFlightDiagnostic diagnostic = emitOpError("expected the kernel to have known_block_size = array<i32: ")
                                    << threads << ", 1, 1>, but got ";
    if (block)
      return diagnostic << block;
    return diagnostic << "none";
  }
  return success();
}

LogicalResult WarpSpecializeOp::verifyRegions() {
  if (getProducer().getNumArguments() != 0)
    return emitOpError("expected a producer without arguments, but got ") << getProducer().getNumArguments();
  if (getConsumers().getNumArguments() != 1 || !getWarpgroup().getType().isIndex())
    return emitOpError("expected consumers to take the warpgroup's number (index) as their only argument");
  return success();
}

//===- rings -------------------------------------------------------------------===//

LogicalResult RingOp::verify() {
  if (getReaders() < 1 || getReaders() > 3)
    return emitOpError("expected 1, 2 or 3 readers, but got ") << getReaders(); // (C1)
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 1024 != 0))
    return emitOpError("expected the offset to be a multiple of 1024, but got ") << *getOffset(); // (C2)
  if (getBarriers() && (*getBarriers() < 0 || *getBarriers() % 8 != 0))
    return emitOpError("expected the barriers' offset to be a multiple of 8, but got ") << *getBarriers(); // (C2)
  return success();
}

LogicalResult AllocateOp::verify() {
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 1024 != 0))
    return emitOpError("expected the offset to be a multiple of 1024, but got ") << *getOffset(); // (C1)
  return success();
}

static LogicalResult verifyPosition(Operation *op, OperandRange position) {
  if (position.size() != 1 && position.size() != 2)
    return op->emitOpError("expected the number of the use, or stage and phase, but got ")
           << position.size() << " values"; // (C1)
  return success();
}

static LogicalResult verifyTiles(Operation *op, RingType ring, ResultRange tiles) {
  if (tiles.size() != ring.getTiles().size())
    return op->emitOpError("expected ") << ring.getTiles().size() << " tiles, but got " << tiles.size(); // (C2)
  for (auto [expected, result] : llvm::zip_equal(ring.getTiles(), tiles))
    if (expected != result.getType())
      return op->emitOpError("expected a tile of type ") << expected << ", but got " << result.getType(); // (C2)
  return success();
}

LogicalResult AcquireOp::verify() {
  if (failed(verifyPosition(*this, getPosition())))
    return failure();
  return verifyTiles(*this, getRing().getType(), getTiles());
}

LogicalResult WaitOp::verify() {
  if (failed(verifyPosition(*this, getPosition())))
    return failure();
  return verifyTiles(*this, getRing().getType(), getTiles());
}

LogicalResult ReleaseOp::verify() { return verifyPosition(*this, getPosition()); }

//===- bulk copies --------------------------------------------------------------===//

static LogicalResult verifyBox(Operation *op, TensorMapType map, TileType tile, int64_t rows) {
  if (map.getRows() != rows)
    return op->emitOpError("expected a box of ") << rows << " rows, but got " << map.getRows(); // (C1)
  if (map.getElementType() != tile.getElementType())
    return op->emitOpError("expected a tensor map of ")
           << tile.getElementType() << ", but got " << map.getElementType();
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyBox(*this, getMap().getType(), getTile().getType(), getTile().getType().getRows());
}

LogicalResult TmaStoreOp::verify() { return verifyBox(*this, getMap().getType(), getTile().getType(), fragmentRows); }

LogicalResult ViewOp::verify() {
  TileType from = getTile().getType(), to = getResult().getType();
  if (from.getRows() != to.getRows())
    return emitOpError("expected the same number of rows, but got ")
           << from.getRows() << " and " << to.getRows(); // (C1)
  if (to.getBytes() > from.getBytes())
    return emitOpError("expected a result of at most ")
           << from.getBytes() << " bytes, but got " << to.getBytes(); // (C1)
  return success();
}

//===- turns --------------------------------------------------------------------===//

static LogicalResult verifyTurn(Operation *op, uint32_t of) {
  if (of != 2 && of != 3)
    return op->emitOpError("expected 2 or 3 warpgroups to take turns, but got ") << of; // (C1)
  return success();
}
LogicalResult FirstTurnOp::verify() { return verifyTurn(*this, getOf()); }
LogicalResult TakeTurnOp::verify() { return verifyTurn(*this, getOf()); }
LogicalResult PassTurnOp::verify() { return verifyTurn(*this, getOf()); }
