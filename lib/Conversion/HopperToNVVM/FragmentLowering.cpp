// Fragments become scalars: positions, row operations, packing, and elementwise arithmetic on vectors.
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa::hopper;

SmallVector<Value> KernelLowering::elementsOf(Value vector) {
  auto known = elements.find(vector);
  if (known != elements.end())
    return known->second;
  LocBuilder builder(vector.getLoc(), vector.getContext());
  builder.setInsertionPointAfterValue(vector);
  if (std::optional<SmallVector<Value>> expanded = expandPositions(builder, vector))
    return elements[vector] = *expanded;
  auto split = vector::ToElementsOp::create(builder, vector);
  SmallVector<Value> values(split.getElements());
  elements[vector] = values;
  return values;
}

void KernelLowering::setElements(LocBuilder &b, Value result, ArrayRef<Value> values) {
  Value joined = vector::FromElementsOp::create(b, cast<VectorType>(result.getType()), values);
  elements[joined] = SmallVector<Value>(values);
  result.replaceAllUsesWith(joined);
}

SmallVector<Value> KernelLowering::broadcastRows(ArrayRef<Value> rows, int64_t length) {
  SmallVector<Value> values;
  for (int64_t v = 0; v < length; ++v)
    values.push_back(rows[rowOf(v)]);
  return values;
}

//===- positions and rows --------------------------------------------------------===//

void KernelLowering::lowerFragmentOp(LocBuilder &b, Operation *op) {
  Value result = op->getResult(0);
  int64_t length = cast<VectorType>(result.getType()).getNumElements();
  SmallVector<Value> values;
  // No position of a tensor is beyond its last tile (docs/Decisions/0300).
  constexpr SignedRange inTensor{0, largestLength + 512};
  if (auto rows = dyn_cast<FragmentRowsOp>(op)) {
    Value row = add(b, arith::ShLIOp::create(b, thread.warp, constant(b, 4)),
                    arith::ShRUIOp::create(b, thread.lane, constant(b, 2)));
    if (rows.getFrom())
      row = add(b, asI32(b, rows.getFrom()), row);
    values = {asIndex(b, row), asIndex(b, addConstant(b, row, 8))};
    for (Value value : values)
      ranges[value] = inTensor;
  } else if (auto columns = dyn_cast<FragmentColumnsOp>(op)) {
    Value first = arith::ShLIOp::create(b, arith::AndIOp::create(b, thread.lane, constant(b, 3)), constant(b, 1));
    if (columns.getFrom())
      first = add(b, asI32(b, columns.getFrom()), first);
    first = asIndex(b, first);
    setPositions(result, {first, first}, 1, inTensor);
    return;
  } else if (auto broadcast = dyn_cast<RowBroadcastOp>(op)) {
    SmallVector<Value> rows = elementsOf(broadcast.getValue());
    if (rows[0].getType().isIndex()) {
      SignedRange first = rangeOf(rows[0]), second = rangeOf(rows[1]);
      setPositions(result, {rows[0], rows[1]}, 0,
                   {std::min(first.first, second.first), std::max(first.second, second.second)});
      return;
    }
    values = broadcastRows(rows, length);
  } else if (auto pack = dyn_cast<PackOp>(op)) {
    SmallVector<Value> from = elementsOf(pack.getValue());
    StringRef type = pack.getElementType().isBF16() ? "bf16" : "f16";
    for (int64_t i = 0; i < length; ++i)
      values.push_back(LLVM::InlineAsmOp::create(
                           b, TypeRange{b.getI32Type()}, ValueRange{from[2 * i + 1], from[2 * i]},
                           ("cvt.rn." + type + "x2.f32 $0, $1, $2;").str(), "=r,f,f",
                           /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                           LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr{})
                           .getRes());
  }
  setElements(b, result, values);
}

static Value combine(LocBuilder &b, Reduction kind, Value x, Value y) {
  if (kind == Reduction::Max)
    return arith::MaxNumFOp::create(b, x, y);
  return arith::AddFOp::create(b, x, y);
}

void KernelLowering::lowerRowReduce(LocBuilder &b, RowReduceOp op) {
  SmallVector<Value> values = elementsOf(op.getValue());
  SmallVector<Value> rows;
  for (int64_t row : {0, 1}) {
    SmallVector<Value> chains;
    constexpr size_t independentChains = 4;
    size_t next = 0;
    for (int64_t v = 0; v < static_cast<int64_t>(values.size()); ++v) {
      if (rowOf(v) != row)
        continue;
      if (chains.size() < independentChains) {
        chains.push_back(values[v]);
      } else {
        chains[next] = combine(b, op.getKind(), chains[next], values[v]);
        next = (next + 1) % independentChains;
      }
    }
    while (chains.size() > 1) {
      SmallVector<Value> half;
      for (size_t i = 0; i < chains.size(); i += 2)
        half.push_back(i + 1 < chains.size() ? combine(b, op.getKind(), chains[i], chains[i + 1]) : chains[i]);
      chains = half;
    }
    rows.push_back(chains[0]);
  }
  setElements(b, op.getResult(), rows);
}

void KernelLowering::lowerQuadReduce(LocBuilder &b, QuadReduceOp op) {
  SmallVector<Value> rows = elementsOf(op.getValue());
  for (Value &value : rows)
    for (int64_t distance : {1, 2}) {
      Value other = NVVM::ShflOp::create(b, b.getF32Type(), constant(b, -1), value, constant(b, distance),
                                         constant(b, 31), NVVM::ShflKind::bfly, UnitAttr{});
      value = combine(b, op.getKind(), value, other);
    }
  setElements(b, op.getResult(), rows);
}

//===- fragment to shared memory ---------------------------------------------------===//

void KernelLowering::lowerStoreFragment(LocBuilder &b, StoreFragmentOp op) {
  SmallVector<Value> values = elementsOf(op.getValue());
  TileType tile = op.getTile().getType();
  MLIRContext *context = b.getContext();
  // A bulk store reads whole panels: what the fragment leaves of the last one becomes zero.
  values.resize(llvm::alignTo(values.size(), tile.getPanelColumns() / 4), constant(b, 0));
  // Lane l gives the address of row l mod 16 of its warp's 16 rows, 16-byte chunk l / 16 of a group of 16 columns.
  Value rowInWarp = arith::AndIOp::create(b, thread.lane, constant(b, 15));
  Value row = add(b, asI32(b, op.getRow()), add(b, arith::ShLIOp::create(b, thread.warp, constant(b, 4)), rowInWarp));
  Value chunk = arith::ShRUIOp::create(b, thread.lane, constant(b, 4));
  Value swizzle = arith::AndIOp::create(b, thread.lane, constant(b, 7));
  Value rowBytes = arith::MulIOp::create(b, row, constant(b, TileType::panelRowBytes));
  Value base = add(b, tileOffsets[op.getTile()], rowBytes);
  for (size_t first = 0; first < values.size(); first += 4) {
    int64_t group = first / 4, groupsPerPanel = tile.getPanelColumns() / 16;
    Value logical = addConstant(b, chunk, group % groupsPerPanel * 2);
    Value physical = arith::ShLIOp::create(b, arith::XOrIOp::create(b, logical, swizzle), constant(b, 4));
    Value address = addConstant(b, add(b, base, physical), group / groupsPerPanel * tile.getPanelBytes());
    ValueRange registers = ValueRange(values).slice(first, std::min<size_t>(4, values.size() - first));
    NVVM::StMatrixOp::create(b, sharedPointer(b, address), registers, NVVM::MMALayout::row,
                             NVVM::LdStMatrixShapeAttr::get(context, 8, 8), NVVM::LdStMatrixEltType::B16);
  }
}

//===- vectors ---------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerVectorOp(LocBuilder &b, Operation *op) {
  if (lowerPositionOp(b, op))
    return success();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constantOp.getValue());
    SmallVector<Value> values;
    Value splat;
    for (Attribute element : dense.getValues<Attribute>()) {
      if (!dense.isSplat() || !splat)
        splat = arith::ConstantOp::create(b, cast<TypedAttr>(element));
      values.push_back(splat);
    }
    setElements(b, op->getResult(0), values);
    return success();
  }
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op); broadcast && !isa<VectorType>(broadcast.getSourceType())) {
    setElements(b, broadcast.getVector(),
                SmallVector<Value>(broadcast.getResultVectorType().getNumElements(), broadcast.getSource()));
    return success();
  }
  if (auto from = dyn_cast<vector::FromElementsOp>(op)) {
    setElements(b, from.getResult(), SmallVector<Value>(from.getElements()));
    return success();
  }
  if (auto to = dyn_cast<vector::ToElementsOp>(op)) {
    to.getElements().replaceAllUsesWith(elementsOf(to.getSource()));
    return success();
  }
  if (auto extract = dyn_cast<vector::ExtractOp>(op);
      extract && extract.getStaticPosition().size() == 1 && extract.getDynamicPosition().empty()) {
    extract.getResult().replaceAllUsesWith(elementsOf(extract.getSource())[extract.getStaticPosition()[0]]);
    return success();
  }
  if (!OpTrait::hasElementwiseMappableTraits(op))
    return op->emitError("expected an elementwise operation on fragments, but got '") << op->getName() << "'";
  int64_t length = cast<VectorType>(op->getResult(0).getType()).getNumElements();
  SmallVector<SmallVector<Value>> results(op->getNumResults());
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<VectorType>(operand.getType()) ? elementsOf(operand) : SmallVector<Value>(length, operand));
  for (int64_t v = 0; v < length; ++v) {
    OperationState state(op->getLoc(), op->getName());
    for (SmallVector<Value> &operand : operands)
      state.operands.push_back(operand[v]);
    for (Type type : op->getResultTypes())
      state.types.push_back(cast<VectorType>(type).getElementType());
    state.addAttributes(op->getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *scalar = b.create(state);
    for (auto [i, result] : llvm::enumerate(scalar->getResults()))
      results[i].push_back(result);
  }
  for (auto [result, values] : llvm::zip_equal(op->getResults(), results))
    setElements(b, result, values);
  return success();
}
