// Products as one inline assembly each: fence, every k step, commit (PTX ISA 9.7.15).
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa::hopper;

namespace {
/// Matrix descriptors count in units of 16 bytes (PTX ISA 9.7.15.5.1.2.2).
constexpr int64_t descriptorUnit = 16;
constexpr int64_t kPerStep = 16;
constexpr int64_t eightRowsBytes = 8 * TileType::panelRowBytes;

/// Distance of k step `step` from the first, in descriptor units. K-major: along a row of a panel, then to the next
/// panel. MN-major: 16 rows further.
int64_t stepOffset(TileType tile, int64_t step, bool kMajor) {
  if (!kMajor)
    return step * kPerStep * TileType::panelRowBytes / descriptorUnit;
  int64_t stepsPerPanel = tile.getPanelColumns() / kPerStep;
  return step / stepsPerPanel * tile.getPanelBytes() / descriptorUnit + step % stepsPerPanel * 2;
}

std::string registerList(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// `"=f"` for each output, the inputs' constraints, and the tied accumulators.
std::string constraintList(int64_t outputs, StringRef inputs, bool tied) {
  std::string text;
  for (int64_t i = 0; i < outputs; ++i)
    text += i ? ",=f" : "=f";
  text += inputs;
  for (int64_t i = 0; tied && i < outputs; ++i)
    text += "," + std::to_string(i);
  return text;
}

/// What both products share: the text of the instruction and the accumulators around it.
struct Product {
  int64_t n, k;
  Type elementType;
  bool negateA, accumulate;

  int64_t outputs() const { return n / 2; }
  int64_t steps() const { return k / kPerStep; }
  std::string instruction() const {
    std::string type = elementType.isBF16() ? "bf16" : "f16";
    return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32." + type + "." + type;
  }
  std::string prologue() const {
    return "{\n.reg .b64 da, db;\n.reg .pred p, q;\nsetp.ne.b32 p, 0, 0;\nsetp.ne.b32 q, 1, 0;\n"
           "wgmma.fence.sync.aligned;\n";
  }
  std::string epilogue() const { return "wgmma.commit_group.sync.aligned;\n}"; }
  /// Scale-d is false on the first step of a product that starts from zero: no register is cleared.
  StringRef scaleD(int64_t step) const { return step == 0 && !accumulate ? "p" : "q"; }
  StringRef scaleA() const { return negateA ? "-1" : "1"; }
};

Type outputStruct(MLIRContext *context, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(count, Float32Type::get(context)));
}

SmallVector<Value> unpack(LocBuilder &b, Value aggregate, int64_t count) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, aggregate, i));
  return values;
}
} // namespace

Value KernelLowering::assembly(LocBuilder &b, Type result, ValueRange operands, const Twine &text,
                               const Twine &constraints) {
  auto op = LLVM::InlineAsmOp::create(b, result ? TypeRange{result} : TypeRange{}, operands, text.str(),
                                      constraints.str(), /*has_side_effects=*/true, /*is_align_stack=*/false,
                                      LLVM::tailcallkind::TailCallKind::None,
                                      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr{});
  return result ? op.getRes() : Value{};
}

Value KernelLowering::descriptor(LocBuilder &b, Value offset, int64_t leadingBytes) {
  Value address = add(b, sharedBaseBits, offset);
  Value start = arith::ShRUIOp::create(b, arith::AndIOp::create(b, address, constant(b, 0x3FFFF)), constant(b, 4));
  int64_t swizzle128 = int64_t(1) << 62;
  int64_t fixed = swizzle128 | (eightRowsBytes / descriptorUnit) << 32 | (leadingBytes / descriptorUnit) << 16;
  return arith::OrIOp::create(b, arith::ExtUIOp::create(b, b.getI64Type(), start), constant64(b, fixed));
}

/// Leading byte offset: ignored for K-major with swizzle (encoded as 1 unit); MN-major: the next panel.
static int64_t leadingBytes(TileType tile, bool kMajor) { return kMajor ? descriptorUnit : tile.getPanelBytes(); }

void KernelLowering::lowerGemmSS(LocBuilder &b, GemmSSOp op) {
  TileType a = op.getA().getType(), bTile = op.getB().getType();
  bool aKMajor = !op.getTransposeA(), bKMajor = op.getTransposeB();
  Product product{bKMajor ? bTile.getRows() : bTile.getColumns(), bKMajor ? bTile.getColumns() : bTile.getRows(),
                  a.getElementType(), op.getNegateA(), static_cast<bool>(op.getAccumulator())};
  // 64 rows of A: rows of the tile, or one panel of a tile that is stored transposed.
  int64_t bytesPerRow = aKMajor ? TileType::panelRowBytes : a.getPanelBytes() / fragmentRows;
  Value rowBytes = arith::MulIOp::create(b, asI32(b, op.getRow()), constant(b, bytesPerRow));
  Value offsetA = add(b, tileOffsets[op.getA()], rowBytes);
  SmallVector<Value> operands{descriptor(b, offsetA, leadingBytes(a, aKMajor)),
                              descriptor(b, tileOffsets[op.getB()], leadingBytes(bTile, bKMajor))};
  if (op.getAccumulator())
    llvm::append_range(operands, elementsOf(op.getAccumulator()));

  int64_t n = product.outputs();
  std::string text = product.prologue();
  llvm::raw_string_ostream os(text);
  for (int64_t step = 0; step < product.steps(); ++step)
    os << "add.s64 da, $" << n << ", " << stepOffset(a, step, aKMajor) << ";\nadd.s64 db, $" << n + 1 << ", "
       << stepOffset(bTile, step, bKMajor) << ";\n"
       << product.instruction() << ' ' << registerList(0, n) << ", da, db, " << product.scaleD(step) << ", "
       << product.scaleA() << ", 1, " << (aKMajor ? 0 : 1) << ", " << (bKMajor ? 0 : 1) << ";\n";
  os << product.epilogue();
  Value result =
      assembly(b, outputStruct(b.getContext(), n), operands, text, constraintList(n, ",l,l", product.accumulate));
  elements[op.getResult()] = unpack(b, result, n);
}

void KernelLowering::lowerGemmRS(LocBuilder &b, GemmRSOp op) {
  TileType bTile = op.getB().getType();
  bool bKMajor = op.getTransposeB();
  Product product{bKMajor ? bTile.getRows() : bTile.getColumns(), bKMajor ? bTile.getColumns() : bTile.getRows(),
                  bTile.getElementType(), op.getNegateA(), static_cast<bool>(op.getAccumulator())};
  SmallVector<Value> operands = elementsOf(op.getA());
  int64_t registersA = operands.size(), n = product.outputs();
  operands.push_back(descriptor(b, tileOffsets[op.getB()], leadingBytes(bTile, bKMajor)));
  if (op.getAccumulator())
    llvm::append_range(operands, elementsOf(op.getAccumulator()));

  std::string text = product.prologue();
  llvm::raw_string_ostream os(text);
  for (int64_t step = 0; step < product.steps(); ++step)
    os << "add.s64 db, $" << n + registersA << ", " << stepOffset(bTile, step, bKMajor) << ";\n"
       << product.instruction() << ' ' << registerList(0, n) << ", " << registerList(n + 4 * step, 4) << ", db, "
       << product.scaleD(step) << ", " << product.scaleA() << ", 1, " << (bKMajor ? 0 : 1) << ";\n";
  os << product.epilogue();
  std::string inputs;
  for (int64_t i = 0; i < registersA; ++i)
    inputs += ",r";
  inputs += ",l";
  Value result =
      assembly(b, outputStruct(b.getContext(), n), operands, text, constraintList(n, inputs, product.accumulate));
  elements[op.getResult()] = unpack(b, result, n);
}

void KernelLowering::lowerWaitGemms(LocBuilder &b, WaitGemmsOp op) {
  SmallVector<Value> operands;
  for (Value value : op.getValues())
    llvm::append_range(operands, elementsOf(value));
  std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";";
  if (operands.empty()) {
    assembly(b, Type{}, {}, text, "~{memory}");
    return;
  }
  int64_t count = operands.size();
  std::string constraints = constraintList(count, "", /*tied=*/true);
  for (Value value : op.getKeeping())
    for (Value element : elementsOf(value)) {
      operands.push_back(element);
      constraints += ",r";
    }
  Value result = assembly(b, outputStruct(b.getContext(), count), operands, text, constraints);
  SmallVector<Value> all = unpack(b, result, count);
  ArrayRef<Value> rest = all;
  for (Value value : op.getResults()) {
    int64_t length = cast<VectorType>(value.getType()).getNumElements();
    setElements(b, value, rest.take_front(length));
    rest = rest.drop_front(length);
  }
}

void KernelLowering::lowerScheduleFence(LocBuilder &b, ScheduleFenceOp op) {
  SmallVector<Value> values = elementsOf(op.getValues());
  Value least = arith::MinNumFOp::create(b, values[0], values[1]);
  // The predicate is never true, but ptxas cannot know: everything above must have been computed here.
  assembly(b, Type{}, {least},
           "{\n.reg .pred p;\n.reg .b32 m;\nsetp.lt.f32 p, $0, 0f00000000;\n"
           "selp.b32 m, 0x7fffffff, 0xffffffff, p;\nbar.warp.sync m;\n}",
           "f,~{memory}");
}
