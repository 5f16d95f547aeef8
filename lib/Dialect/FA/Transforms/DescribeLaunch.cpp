// Launch descriptors from outlined kernels.
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "DescribeViews.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using ::fa::DType;
using ::fa::KernelArgument;
using ::fa::LaunchDescriptor;

std::string mlir::fa::argumentName(func::FuncOp function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, nameAttrName))
    return name.str();
  return "arg" + std::to_string(index);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Prints an affine expression with its operands already printed.
static std::string describeAffine(AffineExpr expr, unsigned numDims, ArrayRef<std::string> operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::string lhs = describeAffine(binary.getLHS(), numDims, operands);
  std::string rhs = describeAffine(binary.getRHS(), numDims, operands);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return "(" + lhs + " + " + rhs + ")";
  case AffineExprKind::Mul:
    return "(" + lhs + " * " + rhs + ")";
  case AffineExprKind::Mod:
    return "(" + lhs + " % " + rhs + ")";
  case AffineExprKind::FloorDiv:
    return "floordiv(" + lhs + ", " + rhs + ")";
  default:
    return "ceildiv(" + lhs + ", " + rhs + ")";
  }
}

FailureOr<std::string> mlir::fa::describeIndex(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return std::to_string(constant.getSExtValue());
  Operation *op = value.getDefiningOp();
  if (!op)
    return tensorName(value);
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> position = dim.getConstantIndex();
    FailureOr<std::string> name = tensorName(dim.getSource());
    if (failed(name) || !position)
      return failure();
    return *name + ".dim" + std::to_string(*position);
  }
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<std::string> text = describeIndex(operand);
    if (failed(text))
      return failure();
    operands.push_back(*text);
  }
  auto binary = [&](StringRef sign) { return "(" + operands[0] + " " + sign.str() + " " + operands[1] + ")"; };
  auto call = [&](StringRef name) { return name.str() + "(" + operands[0] + ", " + operands[1] + ")"; };
  return TypeSwitch<Operation *, FailureOr<std::string>>(op)
      .Case([&](affine::AffineApplyOp apply) {
        AffineMap map = apply.getAffineMap();
        return describeAffine(map.getResult(0), map.getNumDims(), operands);
      })
      .Case([&](arith::MulIOp) { return binary("*"); })
      .Case([&](arith::AddIOp) { return binary("+"); })
      .Case([&](arith::SubIOp) { return binary("-"); })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>([&](auto) { return call("floordiv"); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>([&](auto) { return call("ceildiv"); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([&](auto) { return call("max"); })
      .Case<arith::MinSIOp, arith::MinUIOp>([&](auto) { return call("min"); })
      .Default([&](Operation *other) {
        other->emitError("expected constants, dims and index arithmetic in the sizes of a launch, but got '")
            << other->getName() << "'";
        return FailureOr<std::string>();
      });
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static FailureOr<DType> scalarType(Value value) {
  Type type = value.getType();
  std::string name = type.isIndex() ? "i64" : "";
  if (name.empty())
    llvm::raw_string_ostream(name) << type;
  ::fa::Expected<DType> parsed = ::fa::parseDType(name);
  if (!parsed)
    return emitError(value.getLoc(), "expected a numeric scalar argument, but got ") << type, FailureOr<DType>();
  return *parsed;
}

static FailureOr<KernelArgument> describeKernelArgument(Value value) {
  KernelArgument argument;
  if (auto type = dyn_cast<MemRefType>(value.getType())) {
    FailureOr<std::string> name = tensorName(value);
    if (failed(name))
      return failure();
    argument.kind = KernelArgument::Kind::MemRef;
    argument.tensor = *name;
    argument.rank = type.getRank();
    return argument;
  }
  FailureOr<DType> type = scalarType(value);
  if (failed(type))
    return failure();
  argument.kind = KernelArgument::Kind::Scalar;
  argument.type = *type;
  bool named = isa<BlockArgument>(value);
  FailureOr<std::string> text = named ? tensorName(value) : describeIndex(value);
  if (failed(text))
    return failure();
  (named ? argument.scalar : argument.expression) = *text;
  return argument;
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

/// Static sizes and strides are compiled in, so the runtime must find exactly these.
static void addStaticGuards(LaunchDescriptor &descriptor, StringRef name, MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  bool empty = llvm::is_contained(type.getShape(), 0);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::string prefix = name.str() + ".";
    if (!type.isDynamicDim(dim))
      descriptor.guards.push_back(
          {prefix + "dim" + std::to_string(dim) + " == " + std::to_string(type.getDimSize(dim)),
           "the kernel was compiled for this size; recompile, or compile with `?` in its place"});
    if (!ShapedType::isDynamic(strides[dim]) && type.getDimSize(dim) != 1 && !empty)
      descriptor.guards.push_back({prefix + "stride" + std::to_string(dim) + " == " + std::to_string(strides[dim]) +
                                       " || " + prefix + "dim" + std::to_string(dim) + " <= 1",
                                   "the kernel was compiled for this layout; recompile with a strided memref type, or "
                                   "make the tensor contiguous"});
  }
}

namespace {
/// Sizes that must agree although their types are dynamic.
class AgreementGuards {
public:
  AgreementGuards(LaunchDescriptor &descriptor, function_ref<std::string(Value)> nameOf)
      : descriptor(descriptor), nameOf(nameOf) {}

  void equal(Value a, unsigned dimA, Value b, unsigned dimB) {
    auto x = cast<MemRefType>(a.getType()), y = cast<MemRefType>(b.getType());
    if ((x.isDynamicDim(dimA) || y.isDynamicDim(dimB)) && !nameOf(a).empty() && !nameOf(b).empty())
      add(dim(a, dimA) + " == " + dim(b, dimB), "give tensors whose sizes agree");
  }

  void forKernel(func::FuncOp kernel) {
    Value query;
    kernel.walk([&](StepOp step) {
      query = step.getQuery();
      equal(query, 0, step.getKey(), 0);
      equal(query, 0, step.getValue(), 0);
      equal(step.getKey(), 1, step.getValue(), 1);
      equal(step.getKey(), 2, step.getValue(), 2);
      auto q = step.getQuery().getType(), k = step.getKey().getType();
      if ((q.isDynamicDim(1) || k.isDynamicDim(1)) && !nameOf(query).empty() && !nameOf(step.getKey()).empty()) {
        std::string hq = dim(query, 1), hk = dim(step.getKey(), 1);
        add(hq + " == 0 || (" + hk + " != 0 && " + hq + " % max(" + hk + ", 1) == 0)",
            "heads of query must be a multiple of heads of key");
      }
    });
    if (!query)
      return;
    kernel.walk([&](FinishOp finish) {
      for (unsigned d = 0; d < 3; ++d) {
        equal(query, d, finish.getOutput(), d);
        if (finish.getLse())
          equal(query, d, finish.getLse(), d);
      }
    });
  }

private:
  std::string dim(Value value, unsigned d) { return nameOf(value) + ".dim" + std::to_string(d); }

  void add(std::string condition, std::string remedy) {
    for (const ::fa::Guard &guard : descriptor.guards)
      if (guard.condition == condition)
        return;
    descriptor.guards.push_back({std::move(condition), std::move(remedy)});
  }

  LaunchDescriptor &descriptor;
  function_ref<std::string(Value)> nameOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// Descriptor
//===----------------------------------------------------------------------===//

/// The runtime executes launches only: whatever else a host function does would be lost.
static LogicalResult checkHost(func::FuncOp host) {
  for (Operation &op : host.getBody().front()) {
    if (isa<LaunchOp, func::ReturnOp>(op) || isMemoryEffectFree(&op))
      continue;
    InFlightDiagnostic diag =
        op.emitError("expected constants, dims, views and launches in a function that the runtime "
                     "executes, but got '")
        << op.getName() << "'";
    diag.attachNote(host.getLoc())
        << "run the function with the CPU's ordinary JIT, or move this operation to the caller";
    return diag;
  }
  return success();
}

FailureOr<LaunchDescriptor> mlir::fa::describeLaunch(LaunchOp launch) {
  auto host = launch->getParentOfType<func::FuncOp>();
  if (!host || failed(checkHost(host)))
    return failure();
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
  if (!kernel)
    return launch.emitOpError("expected a kernel function of this module"), FailureOr<LaunchDescriptor>();
  LaunchDescriptor descriptor;
  descriptor.entry = kernel.getName().str();
  descriptor.abi = "so";
  descriptor.order = launch.getHeavyFirst() ? "heavy_first" : "linear";
  FailureOr<std::string> grid = describeIndex(launch.getGrid());
  if (failed(grid))
    return failure();
  descriptor.grid[0] = *grid;
  if (failed(describeViews(host, descriptor)))
    return failure();
  // What is static in the types of views was derived from the types of the arguments they are made of.
  for (BlockArgument argument : host.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType());
        type && llvm::any_of(argument.getUsers(), [](Operation *user) { return isDerivable(user); }))
      addStaticGuards(descriptor, argumentName(host, argument.getArgNumber()), type);
  for (Value value : launch.getArgs()) {
    FailureOr<KernelArgument> argument = describeKernelArgument(value);
    if (failed(argument))
      return failure();
    if (auto type = dyn_cast<MemRefType>(value.getType()))
      addStaticGuards(descriptor, argument->tensor, type);
    descriptor.arguments.push_back(std::move(*argument));
  }
  // In the kernel, a tensor is an argument or a view of one; views keep their own sizes, so only arguments are
  // compared.
  auto nameOf = [&](Value value) {
    while (auto view = value.getDefiningOp<memref::CastOp>())
      value = view.getSource();
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() > 0 ? descriptor.arguments[argument.getArgNumber() - 1].tensor
                                                   : std::string();
  };
  AgreementGuards guards(descriptor, nameOf);
  guards.forKernel(kernel);
  return descriptor;
}
