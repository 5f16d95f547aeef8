// Descriptors, machine code and launches of CpuCode.
#include "CpuCode.h"
#include "fa/Dialect/FA/IR/KernelScratch.h"
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "fa/Target/CPU/CompileToObject.h"
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/IR/Builders.h"
#include "llvm/TargetParser/Host.h"

namespace fa::execution {
namespace {
namespace func = mlir::func;

/// Where launches of a host function run, and the first that failed: set while it runs, on the thread that runs it.
struct HostLaunches {
  runtime::ThreadPool *pool = nullptr;
  Status status;
};
thread_local HostLaunches *hostLaunches = nullptr;

/// What an `fa.launch` in a host function calls. With scratch memory, the last argument is its descriptor, made here.
void launchBlocks(runtime::CpuKernel kernel, int64_t blocks, int32_t heavyFirst, void **arguments, int64_t numArguments,
                  int64_t scratchBytes) {
  struct Worker {
    std::vector<void *> arguments;
    int64_t scratch[5]; ///< memref<?xi8>: base, aligned, offset, size, stride
  };
  if (!hostLaunches->status)
    return;
  std::vector<Worker> workers(hostLaunches->pool->threads());
  const auto prepare = [&](const std::vector<runtime::ScratchArena> &arenas) {
    for (auto [worker, arena] : llvm::zip_equal(workers, arenas)) {
      const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(arena.data()));
      worker = {std::vector<void *>(arguments, arguments + numArguments), {address, address, 0, scratchBytes, 1}};
      if (scratchBytes > 0)
        worker.arguments.back() = worker.scratch;
    }
  };
  hostLaunches->status = hostLaunches->pool->run(
      blocks, static_cast<uint64_t>(scratchBytes), prepare, [&](int64_t index, unsigned worker) {
        kernel(heavyFirst ? blocks - 1 - index : index, workers[worker].arguments.data());
      });
}

/// Names of arguments went into descriptors; LLVM does not know their attributes.
void dropArgumentNames(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned n = 0; n < function.getNumArguments(); ++n)
      for (mlir::NamedAttribute attribute : llvm::to_vector(mlir::FunctionOpInterface(function).getArgAttrs(n)))
        if (attribute.getName().strref().starts_with("fa."))
          function.removeArgAttr(n, attribute.getName());
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

/// One descriptor for each launch; the host function itself is not compiled. Fails, and changes nothing, for a launch
/// that a descriptor cannot say: the whole function runs then.
Status CpuCode::describeKernels(mlir::ModuleOp module, func::FuncOp entry) {
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
  codeImage.launches = std::move(described);
  codeImage.kernels = std::move(names);
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!function->hasAttr(mlir::fa::kernelAttrName) && function.symbolKnownUseEmpty(module))
      function.erase();
  return Status::success();
}

/// The lowering decides what scratch memory kernels work with.
void CpuCode::describeScratch(mlir::ModuleOp module) {
  for (auto [launch, kernel] : llvm::zip_equal(codeImage.launches, codeImage.kernels)) {
    const int64_t bytes = mlir::fa::getScratchBytes(module.lookupSymbol(kernel));
    if (bytes == 0)
      continue;
    launch.scratchBytes = std::to_string(bytes);
    launch.arguments.emplace_back().kind = KernelArgument::Kind::Scratch;
  }
}

/// A kernel of one block that calls the host function.
void CpuCode::describeHost(mlir::ModuleOp module, func::FuncOp entry, const std::vector<Argument> &arguments) {
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
  codeImage.kernels.push_back(entry.getName().str());
  codeImage.launches.push_back(std::move(descriptor));
  codeImage.runsHost = true;
}

/// From the image to functions of this process.
Status CpuCode::link(unsigned threads) {
  cpu = std::make_unique<runtime::CpuDriver>(threads);
  if (codeImage.runsHost) {
    host = std::make_unique<runtime::CpuDriver>(1);
    pool = std::make_unique<runtime::ThreadPool>(threads);
  }
  const std::pair<llvm::StringRef, void *> symbols[] = {{"fa_launch_blocks", reinterpret_cast<void *>(&launchBlocks)}};
  Expected<std::unique_ptr<mlir::fa::JitModule>> jit = mlir::fa::JitModule::load(codeImage.object, symbols);
  if (!jit)
    return jit.error();
  code = std::move(*jit);
  for (const LaunchDescriptor &launch : codeImage.launches) {
    Expected<void *> function = code->lookup(launch.entry);
    if (!function)
      return function.error();
    runtime::ModuleImage image;
    image.kind = runtime::ModuleImage::Kind::Function;
    image.function = *function;
    Expected<std::unique_ptr<runtime::Module>> loaded = cpu->loadModule(image);
    if (!loaded)
      return loaded.error();
    modules.push_back(std::move(*loaded));
  }
  return Status::success();
}

Expected<std::unique_ptr<CpuCode>> CpuCode::load(CodeImage image, unsigned threads) {
  auto result = std::make_unique<CpuCode>();
  result->codeImage = std::move(image);
  if (Status status = result->link(threads); !status)
    return status.error();
  return result;
}

static Expected<llvm::SmallVector<char, 0>> compileObject(mlir::ModuleOp module, const std::string &lowering,
                                                              const std::string &cpu) {
  mlir::fa::CpuOptions cpuOptions;
  cpuOptions.cpu = cpu;
  // Plain loops are vectorised by LLVM; vector code needs no more than code generation.
  cpuOptions.irLevel = lowering == "vector" ? 0 : 2;
  mlir::FailureOr<llvm::SmallVector<char, 0>> object = mlir::fa::compileToObject(module, cpuOptions);
  if (mlir::failed(object))
    return makeError("expected a module that compiles to machine code");
  return std::move(*object);
}

Expected<std::vector<std::string>> CpuCode::featuresOf(mlir::MLIRContext &context, const std::string &cpu) {
  DiagnosticText diagnostics(context);
  mlir::fa::CpuOptions options;
  options.cpu = cpu;
  auto enabled = mlir::fa::enabledFeatures(mlir::UnknownLoc::get(&context), options);
  if (mlir::failed(enabled))
    return makeError(diagnostics.errors("expected the name of a CPU, but got '" + cpu + "'"));
  const std::vector<std::string> features(enabled->begin(), enabled->end());
  if (cpu.empty() || cpu == "native")
    return features;
  const auto host = llvm::sys::getHostCPUFeatures();
  for (const std::string &feature : features)
    if (const auto found = host.find(feature); found != host.end() && !found->second)
      return makeError("expected a CPU whose code this machine can execute, but got '" + cpu + "', which needs " + feature);
  return features;
}

Expected<std::unique_ptr<CpuCode>> CpuCode::build(mlir::ModuleOp module, const std::string &entry,
                                                  const std::vector<Argument> &arguments, const std::string &lowering,
                                                  unsigned threads, StageRunner &runner, const std::string &cpu) {
  auto result = std::make_unique<CpuCode>();
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  const bool direct = holdsLaunchesOnly(function) &&
                      runner.run("descriptor", [&] { return result->describeKernels(module, function); });
  if (!direct) {
    result->describeHost(module, function, arguments);
  }
  dropArgumentNames(module);
  Expected<std::vector<std::string>> features = featuresOf(*module.getContext(), cpu);
  if (!features)
    return features.error();
  if (Status status = runner.run(cpuStages(lowering, *features)); !status)
    return status.error();
  if (direct)
    result->describeScratch(module);
  Status status = runner.run("machine code", [&]() -> Status {
    Expected<llvm::SmallVector<char, 0>> object = compileObject(module, lowering, cpu);
    if (!object)
      return object.error();
    result->codeImage.object = std::move(*object);
    return result->link(threads);
  });
  if (!status)
    return status.error();
  return result;
}

Expected<double> CpuCode::run(const runtime::Bindings &bindings) {
  double seconds = 0;
  for (auto [launch, module] : llvm::zip_equal(codeImage.launches, modules)) {
    HostLaunches launches{pool.get(), Status::success()};
    HostLaunches *saved = std::exchange(hostLaunches, &launches);
    Expected<double> time = (host ? *host : *cpu).launch(*module, launch, bindings);
    hostLaunches = saved;
    if (!time)
      return time.error();
    if (!launches.status)
      return launches.status.error();
    seconds += *time;
  }
  return seconds;
}

} // namespace fa::execution
