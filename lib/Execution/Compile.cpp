// Chooses device and lowering, and compiles for the CPU: kernels launched through descriptors where the host function holds
// nothing else, the whole function otherwise.
#include "fa/Execution/Compile.h"
#include "Pipeline.h"
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "fa/Runtime/CPU/CpuDriver.h"
#include "fa/Target/CPU/CompileToObject.h"
#include "fa/Target/CPU/JitModule.h"
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace fa::execution {
namespace {
namespace func = mlir::func;

/// The pool that launches of a host function use: set while it runs, on the thread that runs it.
thread_local runtime::ThreadPool *launchPool = nullptr;

/// What an `fa.launch` in a host function calls.
void launchBlocks(runtime::CpuKernel kernel, int64_t blocks, int32_t heavyFirst, void **arguments) {
  launchPool->run(blocks, [&](int64_t index, unsigned) { kernel(heavyFirst ? blocks - 1 - index : index, arguments); });
}

class CpuAttention final : public CompiledAttention {
public:
  static Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options);

  runtime::Driver &driver() override { return *cpu; }
  Expected<double> run(const runtime::Bindings &bindings) override;

private:
  struct Launch {
    LaunchDescriptor descriptor;
    std::unique_ptr<runtime::Module> module;
  };
  std::unique_ptr<runtime::CpuDriver> cpu;
  /// Runs host functions: on the calling thread, because their launches use the pool.
  std::unique_ptr<runtime::CpuDriver> host;
  std::unique_ptr<runtime::ThreadPool> pool;
  std::unique_ptr<mlir::fa::JitModule> code;
  std::vector<Launch> launches;

  Status describeKernels(mlir::ModuleOp module, func::FuncOp entry);
  Status describeHost(const Program &program, mlir::ModuleOp module, func::FuncOp entry);
  Status load(mlir::ModuleOp module);
};

/// The schedules of a module's attentions, as attributes.
std::string scheduleOf(mlir::ModuleOp module) {
  std::string text;
  module.walk([&](mlir::fa::AttentionOp op) {
    llvm::raw_string_ostream stream(text);
    stream << (text.empty() ? "" : ", ") << op.getScheduleAttr();
  });
  return text;
}

/// Names of arguments went into descriptors; LLVM does not know their attributes.
void dropArgumentNames(mlir::ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned n = 0; n < function.getNumArguments(); ++n)
      for (mlir::NamedAttribute attribute : llvm::to_vector(mlir::FunctionOpInterface(function).getArgAttrs(n)))
        if (attribute.getName().strref().starts_with("fa."))
          function.removeArgAttr(n, attribute.getName());
}

/// True if a function does nothing that the runtime could not do: constants, dims, views and launches.
bool holdsLaunchesOnly(func::FuncOp entry) {
  bool launches = false;
  for (mlir::Operation &op : entry.getBody().front()) {
    launches |= llvm::isa<mlir::fa::LaunchOp>(op);
    if (!llvm::isa<mlir::fa::LaunchOp, func::ReturnOp>(op) && !mlir::isMemoryEffectFree(&op))
      return false;
  }
  return launches;
}

/// One descriptor for each launch; the host function itself is not compiled.
Status CpuAttention::describeKernels(mlir::ModuleOp module, func::FuncOp entry) {
  for (auto launch : entry.getOps<mlir::fa::LaunchOp>()) {
    mlir::FailureOr<LaunchDescriptor> descriptor = mlir::fa::describeLaunch(launch);
    if (mlir::failed(descriptor))
      return makeError("expected a launch that a descriptor can say");
    compileReport.kernels.push_back(descriptor->entry);
    descriptor->entry = mlir::fa::packedEntryName(descriptor->entry);
    launches.push_back({std::move(*descriptor), nullptr});
  }
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!function->hasAttr(mlir::fa::kernelAttrName) && function.symbolKnownUseEmpty(module))
      function.erase();
  return Status::success();
}

/// A kernel of one block that calls the host function.
Status CpuAttention::describeHost(const Program &program, mlir::ModuleOp module, func::FuncOp entry) {
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
  for (const Argument &argument : program.arguments()) {
    KernelArgument kernelArgument;
    kernelArgument.kind = argument.isTensor ? KernelArgument::Kind::MemRef : KernelArgument::Kind::Scalar;
    (argument.isTensor ? kernelArgument.tensor : kernelArgument.scalar) = argument.name;
    kernelArgument.type = argument.type;
    kernelArgument.rank = static_cast<int>(argument.sizes.size());
    descriptor.arguments.push_back(std::move(kernelArgument));
  }
  compileReport.kernels.push_back(entry.getName().str());
  launches.push_back({std::move(descriptor), nullptr});
  host = std::make_unique<runtime::CpuDriver>(1);
  return Status::success();
}

Status CpuAttention::load(mlir::ModuleOp module) {
  mlir::fa::CpuOptions cpuOptions;
  // Plain loops are vectorised by LLVM; vector code needs no more than code generation.
  cpuOptions.irLevel = compileReport.lowering == "vector" ? 0 : 2;
  mlir::FailureOr<llvm::SmallVector<char, 0>> object = mlir::fa::compileToObject(module, cpuOptions);
  if (mlir::failed(object))
    return makeError("expected a module that compiles to machine code");
  const std::pair<llvm::StringRef, void *> symbols[] = {{"fa_launch_blocks", reinterpret_cast<void *>(&launchBlocks)}};
  Expected<std::unique_ptr<mlir::fa::JitModule>> jit = mlir::fa::JitModule::load(*object, symbols);
  if (!jit)
    return jit.error();
  code = std::move(*jit);
  for (Launch &launch : launches) {
    Expected<void *> function = code->lookup(launch.descriptor.entry);
    if (!function)
      return function.error();
    runtime::ModuleImage image;
    image.kind = runtime::ModuleImage::Kind::Function;
    image.function = *function;
    Expected<std::unique_ptr<runtime::Module>> loaded = cpu->loadModule(image);
    if (!loaded)
      return loaded.error();
    launch.module = std::move(*loaded);
  }
  return Status::success();
}

Expected<std::unique_ptr<CompiledAttention>> CpuAttention::compile(const Program &program,
                                                                   const CompileOptions &options) {
  auto result = std::make_unique<CpuAttention>();
  CompileReport &report = result->compileReport;
  report.target = "cpu";
  report.lowering = options.lowering;
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
  StageRunner runner(*module, options, report);
  runner.dump("input");
  if (options.lowering != "naive") {
    for (const Stage &stage : kernelStages(options, "cpu")) {
      if (Status status = runner.run({stage}); !status)
        return status.error();
      if (stage.name == "schedule")
        report.schedule = scheduleOf(*module);
    }
  }
  auto entry = module->lookupSymbol<func::FuncOp>(program.function().getName());
  const bool direct = holdsLaunchesOnly(entry);
  Status described = direct ? result->describeKernels(*module, entry) : result->describeHost(program, *module, entry);
  if (!described)
    return described.error();
  dropArgumentNames(*module);
  if (Status status = runner.run(cpuStages(options.lowering)); !status)
    return status.error();
  result->cpu = std::make_unique<runtime::CpuDriver>(options.threads);
  if (!direct)
    result->pool = std::make_unique<runtime::ThreadPool>(options.threads);
  report.device = result->cpu->describe();
  if (Status status = runner.run("machine code", [&] { return result->load(*module); }); !status)
    return status.error();
  return std::unique_ptr<CompiledAttention>(std::move(result));
}

Expected<double> CpuAttention::run(const runtime::Bindings &bindings) {
  double seconds = 0;
  for (Launch &launch : launches) {
    runtime::ThreadPool *saved = std::exchange(launchPool, pool.get());
    Expected<double> time = (host ? *host : *cpu).launch(*launch.module, launch.descriptor, bindings);
    launchPool = saved;
    if (!time)
      return time.error();
    seconds += *time;
  }
  return seconds;
}

/// Vector code, or plain loops with the reason: said in the report, never silently.
Expected<std::unique_ptr<CompiledAttention>> compileForCpu(const Program &program, CompileOptions options) {
  if (options.lowering != "auto")
    return CpuAttention::compile(program, options);
  options.lowering = "vector";
  CompileOptions quiet = options;
  std::vector<std::pair<std::string, std::string>> dumps;
  quiet.onDump = [&](const std::string &stage, const std::string &ir) { dumps.emplace_back(stage, ir); };
  Expected<std::unique_ptr<CompiledAttention>> fast = CpuAttention::compile(program, quiet);
  if (fast) {
    fast->get()->noteChoice("auto: the fastest lowering that takes this attention");
    for (const auto &[stage, ir] : dumps)
      options.onDump(stage, ir);
    return fast;
  }
  options.lowering = "loops";
  Expected<std::unique_ptr<CompiledAttention>> portable = CpuAttention::compile(program, options);
  if (portable)
    portable->get()->noteChoice("auto: not vector, which said: " + fast.message());
  return portable;
}
} // namespace

Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options) {
  CompileOptions chosen = options;
  if (chosen.device == "auto")
    chosen.device = "cpu";
  if (chosen.device != "cpu")
    return makeError("expected --device auto or cpu, but got '" + options.device + "', which this build does not have");
  return compileForCpu(program, chosen);
}

} // namespace fa::execution
