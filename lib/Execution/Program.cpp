// Parsing, bufferization of the host function and the meaning of its arguments.
#include "fa/Execution/Program.h"
#include "fa/Pipelines/Register.h"
#include "fa/Support/Text.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <set>
#include <utility>

namespace fa::execution {
namespace {
namespace func = mlir::func;

std::string describe(mlir::Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto file = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
    stream << file.getFilename().strref() << ":" << file.getLine() << ":" << file.getColumn() << ": ";
  const char *severity[] = {"note: ", "warning: ", "error: ", "remark: "};
  stream << severity[static_cast<int>(diagnostic.getSeverity())] << diagnostic;
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    // "see current operation" prints the whole operation: too long for a message.
    std::string line = describe(note);
    if (line.find("see current operation") == std::string::npos)
      text += "\n  " + line;
  }
  return text;
}

std::unique_ptr<mlir::MLIRContext> createContext() {
  mlir::DialectRegistry registry;
  mlir::fa::registerAllDialects(registry);
  // One thread: pipelines here run on single modules, and the caller may have threads of its own.
  return std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
}

/// True if a function does anything to the memory of an argument other than reading.
bool mayWrite(mlir::Value memref) {
  for (mlir::OpOperand &use : memref.getUses()) {
    mlir::Operation *op = use.getOwner();
    if (llvm::isa<mlir::ViewLikeOpInterface, mlir::memref::TransposeOp>(op)) {
      if (mayWrite(op->getResult(0)))
        return true;
      continue;
    }
    auto effects = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(op);
    if (!effects || effects.getEffectOnValue<mlir::MemoryEffects::Write>(use.get()))
      return true;
  }
  return false;
}

/// The value that a view is a view of.
mlir::Value rootOf(mlir::Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (!llvm::isa<mlir::ViewLikeOpInterface, mlir::memref::TransposeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// An attention that overwrites what it reads has no defined result.
Status checkAliases(mlir::fa::AttentionOp op) {
  for (mlir::Value output : op.getOutputs())
    for (mlir::Value input : {op.getQuery(), op.getKey(), op.getValue()})
      if (rootOf(output) == rootOf(input))
        return makeError("expected outputs of fa.attention in memory of their own, but one of them is an input too");
  return Status::success();
}

std::string roleName(mlir::fa::AttentionOp op, mlir::Value value) {
  if (!op)
    return "";
  const std::pair<const char *, mlir::Value> roles[] = {
      {"q", op.getQuery()}, {"k", op.getKey()}, {"v", op.getValue()}, {"o", op.getOutput()}, {"lse", op.getLse()}};
  for (const auto &[name, role] : roles)
    if (role == value)
      return name;
  return "";
}

Expected<DType> elementType(mlir::Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return parseDType(type.isIndex() ? "i64" : name);
}
} // namespace

DiagnosticText::DiagnosticText(mlir::MLIRContext &context) : context(context) {
  handler = context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    const std::string line = describe(diagnostic);
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      errorText += (errorText.empty() ? "" : "\n") + line;
    else
      remarkLines.push_back(line);
  });
}

DiagnosticText::~DiagnosticText() { context.getDiagEngine().eraseHandler(handler); }

std::string DiagnosticText::errors(const std::string &fallback) const {
  return errorText.empty() ? fallback : errorText;
}

Expected<Program> Program::fromFile(const std::string &path, const std::string &entry) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return makeError(path + ": cannot read the file: " + buffer.getError().message());
  return fromText((*buffer)->getBuffer().str(), path, entry);
}

Expected<Program> Program::fromText(const std::string &text, const std::string &name, const std::string &entry) {
  Program program;
  program.ownedContext = createContext();
  {
    DiagnosticText diagnostics(program.context());
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
    program.ownedModule = mlir::parseSourceFile<mlir::ModuleOp>(sources, &program.context());
    if (!program.ownedModule)
      return makeError(diagnostics.errors(name + ": expected a module of MLIR"));
  }
  if (Status status = program.findEntry(entry); !status)
    return makeError(name + ": " + status.message());
  llvm::raw_string_ostream(program.source) << *program.ownedModule;
  program.dropUnused();
  if (Status status = program.bufferize(); !status)
    return status.error();
  if (Status status = program.describeArguments(); !status)
    return makeError(name + ": " + status.message());
  return program;
}

Expected<Program> Program::fromSpec(const AttentionSpec &spec) {
  if (Status status = spec.validate(); !status)
    return status.error();
  return fromText(spec.toIR(), "flags", "attention");
}

func::FuncOp Program::function() const { return module().lookupSymbol<func::FuncOp>(entryName); }

mlir::fa::AttentionOp Program::attention() const {
  mlir::fa::AttentionOp found;
  bool several = false;
  function().walk([&](mlir::fa::AttentionOp op) {
    several |= static_cast<bool>(found);
    found = op;
  });
  return several ? mlir::fa::AttentionOp() : found;
}

Status Program::findEntry(const std::string &entry) {
  std::vector<std::string> names;
  for (auto function : ownedModule->getOps<func::FuncOp>())
    if (!function.isExternal())
      names.push_back(function.getName().str());
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "@" : ", @") + name;
  const std::string wanted = entry.empty() && names.size() == 1 ? names[0] : entry.empty() ? "attention" : entry;
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    return makeError(names.empty() ? "expected a function with a body, but got none"
                     : entry.empty()
                         ? "expected --entry=NAME, because the file has several functions: " + list
                         : "expected --entry to name a function of the file (" + list + "), but got '" + entry + "'");
  entryName = wanted;
  return Status::success();
}

/// Other variants in the file are not compiled, and need not be of a form that compiles.
void Program::dropUnused() {
  for (bool changed = true; std::exchange(changed, false);)
    for (auto function : llvm::make_early_inc_range(module().getOps<func::FuncOp>()))
      if (function.getName() != entryName && function.symbolKnownUseEmpty(module())) {
        function.erase();
        changed = true;
      }
}

/// Arguments that an attention writes in place may be overwritten: they are outputs of the caller.
Status Program::bufferize() {
  func::FuncOp entry = function();
  bool tensors = false;
  entry.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      tensors |= llvm::isa<mlir::TensorType>(type);
  });
  for (mlir::Type type : entry.getArgumentTypes())
    tensors |= llvm::isa<mlir::TensorType>(type);
  if (!tensors && entry.getNumResults() == 0)
    return Status::success();
  for (mlir::Type type : entry.getResultTypes())
    if (!llvm::isa<mlir::RankedTensorType, mlir::MemRefType>(type))
      return makeError("expected @" + entryName + " to return tensors or memrefs only, but it returns a scalar");
  entry.walk([&](mlir::fa::AttentionOp op) {
    for (mlir::Value output : op.getOutputs())
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(output);
          argument && argument.getOwner() == &entry.front())
        entry.setArgAttr(argument.getArgNumber(), mlir::bufferization::BufferizationDialect::kWritableAttrName,
                         mlir::BoolAttr::get(&context(), true));
  });
  DiagnosticText diagnostics(context());
  mlir::PassManager manager(&context());
  mlir::bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion = mlir::bufferization::LayoutMapOption::IdentityLayoutMap;
  manager.addPass(mlir::bufferization::createOneShotBufferizePass(options));
  manager.addPass(mlir::bufferization::createDropEquivalentBufferResultsPass());
  mlir::bufferization::BufferResultsToOutParamsPassOptions outParams;
  outParams.hoistStaticAllocs = true;
  outParams.hoistDynamicAllocs = true;
  manager.addPass(mlir::bufferization::createBufferResultsToOutParamsPass(outParams));
  manager.addPass(mlir::createCanonicalizerPass());
  // These passes change the signatures of private functions only.
  const mlir::SymbolTable::Visibility visibility = entry.getVisibility();
  entry.setPrivate();
  if (mlir::failed(manager.run(module())))
    return makeError(diagnostics.errors("expected a function that bufferizes"));
  function().setVisibility(visibility);
  if (function().getNumResults() != 0)
    return makeError("expected results of @" + entryName + " that can become output arguments");
  return Status::success();
}

Status Program::describeArguments() {
  func::FuncOp entry = function();
  mlir::fa::AttentionOp op = attention();
  if (op)
    if (Status status = checkAliases(op); !status)
      return status;
  std::set<std::string> used;
  for (mlir::BlockArgument value : entry.getArguments()) {
    const unsigned n = value.getArgNumber();
    Argument argument;
    auto given = entry.getArgAttrOfType<mlir::StringAttr>(n, mlir::fa::nameAttrName);
    argument.name = given ? given.str() : roleName(op, value);
    if (argument.name.empty() || (!given && used.count(argument.name)))
      argument.name = "arg" + std::to_string(n);
    if (!used.insert(argument.name).second)
      return makeError("expected different names of arguments, but got two named '" + argument.name + "'");
    // Descriptors take names from this attribute too.
    entry.setArgAttr(n, mlir::fa::nameAttrName, mlir::StringAttr::get(&context(), argument.name));
    if (auto fill = entry.getArgAttrOfType<mlir::StringAttr>(n, "fa.fill"))
      argument.fill = fill.str();
    auto memref = llvm::dyn_cast<mlir::MemRefType>(value.getType());
    Expected<DType> type = elementType(memref ? memref.getElementType() : value.getType());
    if (!type || (memref && !memref.isStrided())) {
      std::string text;
      llvm::raw_string_ostream(text) << value.getType();
      return makeError("expected argument '" + argument.name + "' to be a strided memref or a number, but got " + text);
    }
    argument.type = *type;
    argument.isTensor = static_cast<bool>(memref);
    if (memref) {
      auto [strides, offset] = memref.getStridesAndOffset();
      argument.sizes = memref.getShape().vec();
      argument.strides = {strides.begin(), strides.end()};
      argument.offset = offset;
      argument.isOutput = mayWrite(value);
    }
    argumentList.push_back(std::move(argument));
  }
  return Status::success();
}

} // namespace fa::execution
