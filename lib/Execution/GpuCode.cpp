// The stages of sm_90a: kernels, the hopper dialect, the llvm dialect, PTX; and running the result on a device.
#include "fa/Execution/GpuCode.h"
#include "Pipeline.h"
#include "TileCensus.h"
#include "fa/Dialect/FA/Transforms/DescribeLaunch.h"
#include "fa/Pipelines/DescribeHopper.h"
#include "fa/Pipelines/Hopper.h"
#include "fa/Runtime/CUDA/CudaDriver.h"
#include "fa/Runtime/Emulator/Emulator.h"
#include "fa/Target/PTX/EmitPTX.h"

namespace fa::execution {
namespace {

std::vector<Stage> hopperStages() {
  return {{"hopper", "producer and consumers in the hopper dialect", mlir::fa::buildHopperKernelsPipeline},
          {"stages", "turns, stages and shared memory assigned", mlir::fa::buildHopperTransformsPipeline}};
}

std::vector<Stage> nvvmStages() {
  return {{"nvvm", "the nvvm and llvm dialects", mlir::fa::buildHopperToLLVMPipeline}};
}

class GpuAttention final : public CompiledAttention {
public:
  static Expected<std::unique_ptr<CompiledAttention>> compile(const Program &program, const CompileOptions &options);

  runtime::Driver &driver() override { return *device; }
  Expected<double> run(const runtime::Bindings &bindings) override;

private:
  struct Launch {
    LaunchDescriptor descriptor;
    std::unique_ptr<runtime::Module> module;
  };
  std::unique_ptr<runtime::Driver> device;
  std::vector<Launch> launches;
  /// Runs so far: the emulator gives each the next schedule seed, so that repetition looks for faults that depend on
  /// it.
  uint64_t runs = 0;
};

Expected<std::unique_ptr<runtime::Driver>> createDevice(const CompileOptions &options) {
  if (options.device == "cuda")
    return runtime::createCudaDriver();
  runtime::emulator::Options emulated;
  emulated.threads = options.threads;
  return std::unique_ptr<runtime::Driver>(std::make_unique<runtime::emulator::EmulatorDriver>(emulated));
}

Expected<std::unique_ptr<CompiledAttention>> GpuAttention::compile(const Program &program,
                                                                   const CompileOptions &options) {
  auto result = std::make_unique<GpuAttention>();
  Expected<std::unique_ptr<runtime::Driver>> device = createDevice(options);
  if (!device)
    return device.error();
  result->device = std::move(*device);
  CompileReport &report = result->compileReport;
  report.device = result->device->describe();
  std::function<Status(mlir::ModuleOp)> census;
  if (options.census)
    census = [&](mlir::ModuleOp kernels) { return result->takeCensus(kernels, program, options); };
  Expected<std::vector<GpuKernel>> kernels = compileForGpu(program, options, report, /*keepLLVM=*/false, census);
  if (!kernels)
    return kernels.error();
  for (GpuKernel &kernel : *kernels) {
    runtime::ModuleImage image;
    image.kind = runtime::ModuleImage::Kind::Ptx;
    image.data = std::move(kernel.ptx);
    Expected<std::unique_ptr<runtime::Module>> module = result->device->loadModule(image);
    if (!module)
      return module.error();
    result->launches.push_back({std::move(kernel.descriptor), std::move(*module)});
  }
  return std::unique_ptr<CompiledAttention>(std::move(result));
}

Expected<double> GpuAttention::run(const runtime::Bindings &bindings) {
  if (auto *emulated = dynamic_cast<runtime::emulator::EmulatorDriver *>(device.get()))
    emulated->emulator().options().seed = runs++;
  double seconds = 0;
  for (Launch &launch : launches) {
    Expected<double> time = device->launch(*launch.module, launch.descriptor, bindings);
    if (!time)
      return time.error();
    seconds += *time;
  }
  return seconds;
}
} // namespace

Expected<std::vector<GpuKernel>> compileForGpu(const Program &program, const CompileOptions &options,
                                               CompileReport &report, bool keepLLVM,
                                               const std::function<Status(mlir::ModuleOp)> &onKernels) {
  if (options.lowering != "auto" && options.lowering != "hopper")
    return makeError("expected --lowering auto or hopper for a GPU, but got '" + options.lowering + "'");
  report.target = "sm_90a";
  report.lowering = "hopper";
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
  StageRunner runner(*module, options, report);
  runner.dump("input");
  if (Status status = runner.runKernelStages("sm_90a"); !status)
    return status.error();
  if (onKernels)
    if (Status status = onKernels(*module); !status)
      return status.error();
  // What a launch passes is said by the host function; its kernels' bodies say what has to agree. Both are here now.
  std::vector<LaunchDescriptor> hosts;
  auto entry = module->lookupSymbol<mlir::func::FuncOp>(program.function().getName());
  Status described = runner.run("launches", [&]() -> Status {
    entry.walk([&](mlir::fa::LaunchOp launch) {
      if (mlir::FailureOr<LaunchDescriptor> host = mlir::fa::describeLaunch(launch); mlir::succeeded(host))
        hosts.push_back(std::move(*host));
      else
        hosts.clear();
    });
    return hosts.empty()
               ? Status(makeError("expected a function of attention alone, whose launches a descriptor can say"))
               : Status::success();
  });
  if (!described)
    return described.error();
  if (Status status = runner.run(hopperStages()); !status)
    return status.error();
  std::vector<GpuKernel> kernels;
  for (const LaunchDescriptor &host : hosts)
    for (auto gpuModule : module->getOps<mlir::gpu::GPUModuleOp>())
      if (auto kernel = gpuModule.lookupSymbol<mlir::gpu::GPUFuncOp>(host.entry))
        if (mlir::FailureOr<LaunchDescriptor> own = mlir::fa::describeHopperKernel(host, kernel); mlir::succeeded(own))
          kernels.push_back({std::move(*own), "", ""});
  if (kernels.size() != hosts.size())
    return makeError("expected every kernel to be scheduled for sm_90a, but got one that is not");
  if (Status status = runner.run(nvvmStages()); !status)
    return status.error();
  Status emitted = runner.run("ptx", [&]() -> Status {
    for (GpuKernel &kernel : kernels)
      for (auto gpuModule : module->getOps<mlir::gpu::GPUModuleOp>()) {
        if (!gpuModule.lookupSymbol(kernel.descriptor.entry))
          continue;
        mlir::FailureOr<std::string> ptx = mlir::fa::emitPtx(gpuModule);
        mlir::FailureOr<std::string> llvm = std::string();
        if (keepLLVM)
          llvm = mlir::fa::emitLLVM(gpuModule);
        if (mlir::failed(ptx) || mlir::failed(llvm))
          return makeError("expected a module that LLVM takes to PTX");
        kernel.ptx = std::move(*ptx);
        kernel.llvm = std::move(*llvm);
        report.kernels.push_back(kernel.descriptor.entry);
      }
    return Status::success();
  });
  if (!emitted)
    return emitted.error();
  return kernels;
}

Expected<std::unique_ptr<CompiledAttention>> compileForDevice(const Program &program, const CompileOptions &options) {
  return GpuAttention::compile(program, options);
}

std::vector<Stage> gpuStages() {
  std::vector<Stage> stages = hopperStages();
  for (const Stage &stage : nvvmStages())
    stages.push_back(stage);
  return stages;
}

} // namespace fa::execution
