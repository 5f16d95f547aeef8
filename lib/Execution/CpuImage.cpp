// Descriptors from launches, then the CPU's stages, then LLVM's code generator.
#include "CpuImage.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Target/CPU/FindCpu.h"
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/IR/Builders.h"
#include "llvm/TargetParser/Host.h"

namespace fa::execution {
namespace {
namespace func = mlir::func;

/// Names of arguments went into descriptors; LLVM does not know their attributes.
void dropArgumentNames(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned n = 0; n < function.getNumArguments(); ++n)
      for (mlir::NamedAttribute attribute : llvm::to_vector(mlir::FunctionOpInterface(function).getArgAttrs(n)))
        if (attribute.getName().strref().starts_with("fa."))
          function.removeArgAttr(n, attribute.getName());
}

/// One descriptor for each launch; the host function itself is not compiled. Fails, and changes nothing, for a launch
/// that a descriptor cannot say: the whole function runs then.
Status describeKernels(mlir::ModuleOp module, func::FuncOp entry, CodeImage &image) {
  std::vector<LaunchDescriptor> described;
  std::vector<std::string> names;
  for (auto launch : entry.getOps<mlir::fa::LaunchOp>()) {
    mlir::FailureOr<LaunchDescriptor> descriptor = mlir::fa::describeLaunch(launch);
    if (mlir::failed(descriptor))
      return makeError("expected a launch that a descriptor can say");
    names.push_back(descriptor->entry);
    descriptor->entry = mlir::fa::packedEntryName(descriptor->entry);
    described.push_back(std::move(*descriptor));
  }
  image.launches = std::move(described);
  image.kernels = std::move(names);
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!function->hasAttr(mlir::fa::kernelAttrName) && function.symbolKnownUseEmpty(module))
      function.erase();
  return Status::success();
}

/// The lowering decides what scratch memory kernels work with.
void describeScratch(mlir::ModuleOp module, CodeImage &image) {
  for (auto [launch, kernel] : llvm::zip_equal(image.launches, image.kernels)) {
    const int64_t bytes = mlir::fa::getScratchBytes(module.lookupSymbol(kernel));
    if (bytes == 0)
      continue;
    launch.scratchBytes = std::to_string(bytes);
    launch.arguments.emplace_back().kind = KernelArgument::Kind::Scratch;
  }
}

/// A kernel of one block that calls the host function.
void describeHost(mlir::ModuleOp module, func::FuncOp entry, const std::vector<Argument> &arguments, CodeImage &image) {
  const std::string name = "host_of_" + entry.getName().str();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  llvm::SmallVector<mlir::Type> types{builder.getIndexType()};
  llvm::append_range(types, entry.getArgumentTypes());
  auto wrapper = func::FuncOp::create(builder, entry.getLoc(), name, builder.getFunctionType(types, {}));
  wrapper->setAttr(mlir::fa::kernelAttrName, builder.getUnitAttr());
  builder.setInsertionPointToStart(wrapper.addEntryBlock());
  func::CallOp::create(builder, entry.getLoc(), entry, wrapper.getArguments().drop_front());
  func::ReturnOp::create(builder, entry.getLoc());

  LaunchDescriptor descriptor;
  descriptor.entry = mlir::fa::packedEntryName(name);
  descriptor.abi = "so";
  for (const Argument &argument : arguments) {
    KernelArgument kernelArgument;
    kernelArgument.kind = argument.isTensor ? KernelArgument::Kind::MemRef : KernelArgument::Kind::Scalar;
    (argument.isTensor ? kernelArgument.tensor : kernelArgument.scalar) = argument.name;
    kernelArgument.type = argument.type;
    kernelArgument.rank = static_cast<int>(argument.sizes.size());
    descriptor.arguments.push_back(std::move(kernelArgument));
  }
  image.kernels.push_back(entry.getName().str());
  image.launches.push_back(std::move(descriptor));
  image.runsHost = true;
}

} // namespace

bool holdsLaunchesOnly(func::FuncOp entry) {
  bool launches = false;
  for (mlir::Operation &op : entry.getBody().front()) {
    launches |= llvm::isa<mlir::fa::LaunchOp>(op);
    if (!llvm::isa<mlir::fa::LaunchOp, func::ReturnOp>(op) && !mlir::isMemoryEffectFree(&op))
      return false;
  }
  return launches;
}

Expected<CpuTarget> CpuTarget::find(mlir::MLIRContext &context, const std::string &name) {
  CpuTarget target;
  DiagnosticText diagnostics(context);
  const mlir::Location loc = mlir::UnknownLoc::get(&context);
  mlir::FailureOr<mlir::fa::CpuOptions> options = mlir::fa::findCpu(loc, name);
  if (mlir::failed(options))
    return makeError(diagnostics.errors("expected the name of a CPU"));
  target.options = *options;
  mlir::FailureOr<llvm::SmallVector<std::string>> features = mlir::fa::enabledFeatures(loc, *options);
  if (mlir::failed(features))
    return makeError(diagnostics.errors("expected a CPU that LLVM knows"));
  target.features = std::move(*features);
  if (options->cpu.empty())
    return target;
  mlir::fa::VectorUnitOptions unit;
  mlir::fa::selectVectorUnit(target.features, unit);
  target.vectorBits = unit.vectorBits;
  return target;
}

Expected<CpuTarget> CpuTarget::findExecutable(mlir::MLIRContext &context, const std::string &name) {
  Expected<CpuTarget> target = find(context, name);
  if (!target || target->options.cpu.empty())
    return target;
  if (!target->options.triple.empty())
    return makeError("expected a CPU whose code this machine can execute, but got '" + name + "'");
  const auto host = llvm::sys::getHostCPUFeatures();
  for (const std::string &feature : target->features)
    if (const auto found = host.find(feature); found != host.end() && !found->second)
      return makeError("expected a CPU whose code this machine can execute, but got '" + name + "', which needs " +
                       feature);
  return target;
}

Expected<CodeImage> lowerForCpu(mlir::ModuleOp module, const std::string &entry, const std::vector<Argument> &arguments,
                                const std::string &lowering, const CpuTarget &target, HostFunctions hosts,
                                StageRunner &runner) {
  CodeImage image;
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  Status direct = makeError("expected a function that holds launches only");
  if (hosts == HostFunctions::Refuse || holdsLaunchesOnly(function))
    direct = runner.run("descriptor", [&] { return describeKernels(module, function, image); });
  if (!direct && hosts == HostFunctions::Refuse)
    return direct.error();
  if (!direct)
    describeHost(module, function, arguments, image);
  dropArgumentNames(module);
  if (Status status = runner.run(cpuStages(lowering, target.features)); !status)
    return status.error();
  if (direct)
    describeScratch(module, image);
  return image;
}

Expected<llvm::SmallVector<char, 0>> emitForCpu(mlir::ModuleOp module, const std::string &lowering,
                                                const CpuTarget &target, mlir::fa::CpuCodeForm form) {
  mlir::fa::CpuOptions options = target.options;
  // Plain loops are vectorised by LLVM; vector code needs no more than code generation.
  options.irLevel = lowering == "vector" ? 0 : 2;
  mlir::FailureOr<llvm::SmallVector<char, 0>> code = mlir::fa::emitCpuCode(module, options, form);
  if (mlir::failed(code))
    return makeError("expected a module that compiles to machine code");
  return std::move(*code);
}

} // namespace fa::execution
