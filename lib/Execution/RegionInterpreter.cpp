// From a scalar region to ScalarCode. What does not depend on the key is computed once per row; what depends on
// nothing, once.
#include "fa/Execution/RegionInterpreter.h"
#include "SimpleOperations.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <array>
#include <atomic>
#include <optional>

namespace fa::execution {
namespace {
using mlir::Operation;
using mlir::Value;

unsigned widthOf(mlir::Type type) {
  if (type.isIndex())
    return 64;
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

std::optional<DType> dtypeOf(mlir::Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  if (type.isIndex())
    name = "i64";
  Expected<DType> dtype = parseDType(name);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

/// When a value is known: before all, per row, per element.
enum Level : unsigned { Once, Row, Element };

class Compiler {
public:
  explicit Compiler(const HostValues &values) : values(values) { code.registers.resize(ScalarCode::firstFreeSlot); }

  Expected<ScalarCode> compile(mlir::Region &region) {
    mlir::Block &block = region.front();
    const bool hasScore = block.getNumArguments() == 5;
    for (auto [n, argument] : llvm::enumerate(block.getArguments())) {
      const auto slot = static_cast<uint32_t>(n + (hasScore ? 0 : 1));
      slots[argument] = slot;
      levels[argument] = slot == ScalarCode::scoreSlot || slot == ScalarCode::keySlot ? Element : Row;
    }
    for (Operation &op : block.without_terminator())
      if (!emitOp(op))
        return *failure;
    return finish(block.getTerminator()->getOperand(0));
  }

  Expected<ScalarCode> compile(Value value) { return finish(value); }

private:
  const HostValues &values;
  ScalarCode code;
  llvm::DenseMap<Value, uint32_t> slots;
  llvm::DenseMap<Value, unsigned> levels;
  std::optional<Error> failure;
  std::optional<Level> forced; ///< inside a branch, everything belongs to the level of the branch

  Expected<ScalarCode> finish(Value value) {
    std::optional<uint32_t> slot = slotOf(value);
    if (!slot)
      return *failure;
    code.result = *slot;
    return std::move(code);
  }

  bool fail(Operation &op, const std::string &message) {
    failure = makeError(describeLocation(op.getLoc()) + ": " + message);
    return false;
  }

  uint32_t newSlot() {
    code.registers.push_back(Slot{0});
    return static_cast<uint32_t>(code.registers.size() - 1);
  }

  std::vector<Instruction> &part(unsigned level) {
    return level == Once ? code.once : level == Row ? code.row : code.element;
  }

  /// Register of a value; a captured one is emitted first.
  std::optional<uint32_t> slotOf(Value value) {
    if (auto found = slots.find(value); found != slots.end())
      return found->second;
    if (values.hasScalar(value)) {
      const uint32_t slot = newSlot();
      code.registers[slot] = values.boundScalar(value);
      slots[value] = slot;
      levels[value] = Once;
      return slot;
    }
    Operation *op = value.getDefiningOp();
    if (!op) {
      failure = makeError(describeLocation(value.getLoc()) + ": expected a value for a captured argument");
      return std::nullopt;
    }
    // A captured value is computed outside of any branch.
    std::optional<Level> saved = std::exchange(forced, std::nullopt);
    const bool ok = emitOp(*op);
    forced = saved;
    return ok ? std::optional(slots.lookup(value)) : std::nullopt;
  }

  Level levelOf(mlir::ValueRange operands) {
    unsigned level = Once;
    for (Value operand : operands)
      level = std::max(level, levels.lookup(operand));
    return static_cast<Level>(level);
  }

  bool operandSlots(Operation &op, std::vector<uint32_t> &result) {
    for (Value operand : op.getOperands()) {
      std::optional<uint32_t> slot = slotOf(operand);
      if (!slot)
        return false;
      result.push_back(*slot);
    }
    return true;
  }

  uint32_t define(Value value, Level level) {
    const uint32_t slot = newSlot();
    slots[value] = slot;
    levels[value] = level;
    return slot;
  }

  bool emit(Operation &op, Opcode opcode, unsigned width, int64_t immediate = 0) {
    std::vector<uint32_t> inputs;
    if (!operandSlots(op, inputs))
      return false;
    inputs.resize(3, 0);
    const Level level = forced.value_or(levelOf(op.getOperands()));
    const uint32_t result = define(op.getResult(0), level);
    part(level).push_back({opcode, static_cast<uint8_t>(width), result, inputs[0], inputs[1], inputs[2], immediate});
    return true;
  }

  bool emitOp(Operation &op);
  bool emitConstant(Operation &op);
  bool emitConversion(Operation &op);
  bool emitLoad(mlir::memref::LoadOp op);
  bool emitDim(mlir::memref::DimOp op);
  bool emitIf(mlir::scf::IfOp op);
  bool emitAffine(Operation &op, mlir::AffineMap map);
  std::optional<uint32_t> emitAffineExpr(mlir::AffineExpr expr, unsigned numDims, llvm::ArrayRef<uint32_t> operands,
                                         Level level);
  bool emitCaptures(mlir::scf::IfOp op);
  Level branchLevel(mlir::scf::IfOp op);

  uint32_t constant(int64_t value) {
    const uint32_t slot = newSlot();
    code.registers[slot].i = value;
    return slot;
  }
};

bool Compiler::emitConstant(Operation &op) {
  const uint32_t slot = define(op.getResult(0), Once);
  mlir::Attribute value;
  if (!mlir::matchPattern(op.getResult(0), mlir::m_Constant(&value)))
    return fail(op, "expected a constant with a value");
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value))
    code.registers[slot].f = number.getValueAsDouble();
  else if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value))
    code.registers[slot].i =
        integer.getType().isInteger(1) ? integer.getValue().getZExtValue() : integer.getValue().getSExtValue();
  else
    return fail(op, "expected a constant integer or float in a region");
  return true;
}

bool Compiler::emitConversion(Operation &op) {
  mlir::Type from = op.getOperand(0).getType(), to = op.getResult(0).getType();
  const llvm::StringRef name = op.getName().getStringRef();
  if (name == "arith.truncf") {
    std::optional<DType> dtype = dtypeOf(to);
    return dtype ? emit(op, Opcode::RoundF, 64, static_cast<int64_t>(*dtype))
                 : fail(op, "expected f32, f16, bf16 or an 8-bit float as the result of arith.truncf in a region");
  }
  if (name == "arith.sitofp" || name == "arith.uitofp")
    return emit(op, name == "arith.sitofp" ? Opcode::SIToF : Opcode::UIToF, widthOf(from));
  if (name == "arith.extsi" || (name == "arith.index_cast" && widthOf(to) > widthOf(from)))
    return emit(op, Opcode::ExtSI, widthOf(from));
  if (name == "arith.extui" || (name == "arith.index_castui" && widthOf(to) > widthOf(from)))
    return emit(op, Opcode::ExtUI, widthOf(from));
  if (name == "arith.index_cast" || name == "arith.index_castui")
    return emit(op, Opcode::TruncI, widthOf(to));
  // arith.bitcast
  if (from.isF32() && to.isInteger(32))
    return emit(op, Opcode::BitsOfF32, 32);
  if (from.isInteger(32) && to.isF32())
    return emit(op, Opcode::F32OfBits, 32);
  if (from.isF64() && to.isInteger(64))
    return emit(op, Opcode::BitsOfF64, 64);
  if (from.isInteger(64) && to.isF64())
    return emit(op, Opcode::F64OfBits, 64);
  return fail(op, "expected a bitcast between f32 and i32 or f64 and i64 in a region");
}

bool Compiler::emitLoad(mlir::memref::LoadOp op) {
  Expected<runtime::Tensor> tensor = values.tensor(op.getMemRef());
  if (!tensor) {
    failure = tensor.error();
    return false;
  }
  LoadSite site;
  site.tensor = std::move(*tensor);
  site.isFloat = llvm::isa<mlir::FloatType>(op.getType());
  site.what = describeLocation(op.getLoc());
  for (Value index : op.getIndices()) {
    std::optional<uint32_t> slot = slotOf(index);
    if (!slot)
      return false;
    site.indices.push_back(*slot);
  }
  const Level level = forced.value_or(levelOf(op.getIndices()));
  const uint32_t result = define(op.getResult(), level);
  part(level).push_back({Opcode::Load, static_cast<uint8_t>(widthOf(op.getType())), result, 0, 0, 0,
                         static_cast<int64_t>(code.loads.size())});
  code.loads.push_back(std::move(site));
  return true;
}

bool Compiler::emitDim(mlir::memref::DimOp op) {
  Expected<runtime::Tensor> tensor = values.tensor(op.getSource());
  Expected<int64_t> index = values.index(op.getIndex());
  if (!tensor || !index) {
    failure = tensor ? index.error() : tensor.error();
    return false;
  }
  if (*index < 0 || *index >= static_cast<int64_t>(tensor->sizes.size()))
    return fail(*op, "expected a dimension of the memref, but got " + std::to_string(*index));
  code.registers[define(op.getResult(), Once)].i = tensor->sizes[static_cast<size_t>(*index)];
  return true;
}

/// The latest level of anything that the branches read.
Level Compiler::branchLevel(mlir::scf::IfOp op) {
  unsigned level = levels.lookup(op.getCondition());
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (auto found = levels.find(operand); found != levels.end())
        level = std::max(level, found->second);
  });
  return static_cast<Level>(level);
}

/// Values from outside of the region are computed before the branch, whichever way it goes.
bool Compiler::emitCaptures(mlir::scf::IfOp op) {
  mlir::Region *outer = op->getParentRegion();
  mlir::WalkResult result = op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      const bool inside = operand.getParentRegion()->isAncestor(outer) == false || operand.getParentRegion() == outer;
      if (!inside && operand.getType().isIntOrIndexOrFloat() && !slotOf(operand))
        return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return !result.wasInterrupted();
}

bool Compiler::emitIf(mlir::scf::IfOp op) {
  std::optional<uint32_t> condition = slotOf(op.getCondition());
  if (!condition || !emitCaptures(op))
    return false;
  const Level level = forced.value_or(branchLevel(op));
  std::vector<uint32_t> results;
  for (Value result : op.getResults())
    results.push_back(define(result, level));
  std::optional<Level> saved = std::exchange(forced, level);
  std::vector<Instruction> &out = part(level);
  const size_t branch = out.size();
  out.push_back({Opcode::JumpUnless, 64, 0, *condition, 0, 0, 0});
  const auto emitBlock = [&](mlir::Block *block) {
    for (Operation &nested : block->without_terminator())
      if (!emitOp(nested))
        return false;
    for (auto [n, value] : llvm::enumerate(block->getTerminator()->getOperands())) {
      std::optional<uint32_t> slot = slotOf(value);
      if (!slot)
        return false;
      out.push_back({Opcode::Copy, 64, results[n], *slot, 0, 0, 0});
    }
    return true;
  };
  if (!emitBlock(op.thenBlock()))
    return false;
  const size_t skip = out.size();
  out.push_back({Opcode::Jump, 64, 0, 0, 0, 0, 0});
  out[branch].immediate = static_cast<int64_t>(out.size());
  if (op.elseBlock() && !emitBlock(op.elseBlock()))
    return false;
  out[skip].immediate = static_cast<int64_t>(out.size());
  forced = saved;
  return true;
}

std::optional<uint32_t> Compiler::emitAffineExpr(mlir::AffineExpr expr, unsigned numDims,
                                                 llvm::ArrayRef<uint32_t> operands, Level level) {
  if (auto number = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant(number.getValue());
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  const uint32_t a = *emitAffineExpr(binary.getLHS(), numDims, operands, level);
  const uint32_t b = *emitAffineExpr(binary.getRHS(), numDims, operands, level);
  const auto push = [&](Opcode opcode, uint32_t x, uint32_t y) {
    const uint32_t result = newSlot();
    part(level).push_back({opcode, 64, result, x, y, 0, 0});
    return result;
  };
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return push(Opcode::AddI, a, b);
  case mlir::AffineExprKind::Mul:
    return push(Opcode::MulI, a, b);
  case mlir::AffineExprKind::FloorDiv:
    return push(Opcode::FloorDivSI, a, b);
  case mlir::AffineExprKind::CeilDiv:
    return push(Opcode::CeilDivSI, a, b);
  default: // a mod b = a - b floor(a / b)
    return push(Opcode::SubI, a, push(Opcode::MulI, b, push(Opcode::FloorDivSI, a, b)));
  }
}

bool Compiler::emitAffine(Operation &op, mlir::AffineMap map) {
  std::vector<uint32_t> operands;
  if (!operandSlots(op, operands))
    return false;
  const Level level = forced.value_or(levelOf(op.getOperands()));
  const Opcode combine = llvm::isa<mlir::affine::AffineMinOp>(op) ? Opcode::MinSI : Opcode::MaxSI;
  std::optional<uint32_t> result;
  for (mlir::AffineExpr expr : map.getResults()) {
    const uint32_t term = *emitAffineExpr(expr, map.getNumDims(), operands, level);
    if (!result) {
      result = term;
      continue;
    }
    const uint32_t combined = newSlot();
    part(level).push_back({combine, 64, combined, *result, term, 0, 0});
    result = combined;
  }
  slots[op.getResult(0)] = *result;
  levels[op.getResult(0)] = level;
  return true;
}

bool Compiler::emitOp(Operation &op) {
  if (op.getNumResults() == 1 && slots.contains(op.getResult(0)))
    return true;
  if (op.hasTrait<mlir::OpTrait::ConstantLike>())
    return emitConstant(op);
  if (auto load = llvm::dyn_cast<mlir::memref::LoadOp>(op))
    return emitLoad(load);
  if (auto dim = llvm::dyn_cast<mlir::memref::DimOp>(op))
    return emitDim(dim);
  if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op))
    return emitIf(branch);
  if (auto apply = llvm::dyn_cast<mlir::affine::AffineApplyOp>(op))
    return emitAffine(op, apply.getAffineMap());
  if (auto minimum = llvm::dyn_cast<mlir::affine::AffineMinOp>(op))
    return emitAffine(op, minimum.getAffineMap());
  if (auto maximum = llvm::dyn_cast<mlir::affine::AffineMaxOp>(op))
    return emitAffine(op, maximum.getAffineMap());
  const auto isScalar = [](mlir::Type type) { return type.isIntOrIndexOrFloat(); };
  if (!llvm::all_of(op.getOperandTypes(), isScalar) || !llvm::all_of(op.getResultTypes(), isScalar))
    return fail(op, "expected operations on numbers in a region that the reference interprets, but got '" +
                        op.getName().getStringRef().str() + "'");
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpIOp>(op))
    return emit(op, Opcode::CmpI, widthOf(compare.getLhs().getType()), static_cast<int64_t>(compare.getPredicate()));
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    return emit(op, Opcode::CmpF, 64, static_cast<int64_t>(compare.getPredicate()));
  if (llvm::isa<mlir::arith::TruncFOp, mlir::arith::SIToFPOp, mlir::arith::UIToFPOp, mlir::arith::ExtSIOp,
                mlir::arith::ExtUIOp, mlir::arith::IndexCastOp, mlir::arith::IndexCastUIOp, mlir::arith::BitcastOp>(op))
    return emitConversion(op);
  const llvm::StringMap<Opcode> &table = simpleOperations();
  if (auto found = table.find(op.getName().getStringRef()); found != table.end())
    return emit(op, found->second, widthOf(op.getResult(0).getType()));
  return fail(op, "expected an operation of arith, math, affine, memref.load, memref.dim or scf.if where the reference "
                  "evaluates scalars, but got '" +
                      op.getName().getStringRef().str() + "'; use --no-check to run without the reference");
}

} // namespace

Expected<ScalarCode> compileRegion(mlir::Region &region, const HostValues &values) {
  return Compiler(values).compile(region);
}

Expected<ScalarCode> compileValue(Value value, const HostValues &values) { return Compiler(values).compile(value); }

RegionFunction::RegionFunction(ScalarCode scalarCode) : code(std::move(scalarCode)) {
  static std::atomic<uint64_t> next{1};
  serial = next++;
}

Slot RegionFunction::evaluate(double s, int64_t b, int64_t h, int64_t i, int64_t j) {
  // Each thread keeps the machines of the few functions it called last.
  struct Cached {
    uint64_t serial = 0;
    std::optional<ScalarMachine> machine;
  };
  thread_local std::array<Cached, 4> cache;
  Cached &cached = cache[serial % cache.size()];
  if (cached.serial != serial) {
    cached.machine.emplace(code);
    cached.serial = serial;
  }
  const Slot result = cached.machine->evaluate(s, b, h, i, j);
  if (!cached.machine->error().empty()) [[unlikely]] {
    std::lock_guard lock(mutex);
    if (fault.empty())
      fault = cached.machine->error();
  }
  return result;
}

Status RegionFunction::status() const {
  std::lock_guard lock(mutex);
  return fault.empty() ? Status::success() : Status(makeError(fault));
}

} // namespace fa::execution
