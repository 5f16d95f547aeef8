// Machine code loaded into this process, and its launches.
#include "CpuCode.h"

namespace fa::execution {
namespace {
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

} // namespace

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

Expected<std::unique_ptr<CpuCode>> CpuCode::build(mlir::ModuleOp module, const std::string &entry,
                                                  const std::vector<Argument> &arguments, const std::string &lowering,
                                                  unsigned threads, StageRunner &runner, const std::string &cpu) {
  Expected<CpuTarget> target = CpuTarget::findExecutable(*module.getContext(), cpu);
  if (!target)
    return target.error();
  Expected<CodeImage> image = lowerForCpu(module, entry, arguments, lowering, *target, HostFunctions::Run, runner);
  if (!image)
    return image.error();
  auto result = std::make_unique<CpuCode>();
  result->codeImage = std::move(*image);
  Status status = runner.run("machine code", [&]() -> Status {
    Expected<llvm::SmallVector<char, 0>> object = emitForCpu(module, lowering, *target, mlir::fa::CpuCodeForm::Object);
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
