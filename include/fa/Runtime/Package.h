// A package: the folder that fa-compile writes and that the runtime alone executes (docs/LaunchDescriptor.md).
#pragma once
#include "fa/Runtime/Driver.h"
#include "fa/Support/FunctionSignature.h"
#include <optional>

namespace fa::runtime {

/// One launch of a package, with every form of its code that the folder holds.
struct PackagedKernel {
  LaunchDescriptor descriptor;
  std::optional<ModuleImage> ptx, cubin, sharedObject;
};

/// `launches.txt` names the kernels in order; `<kernel>.json` is the descriptor, `<kernel>.ptx`, `.cubin` and `.so` are
/// the code; `signature.json` says what the function takes.
struct Package {
  std::string path;
  FunctionSignature signature;
  std::vector<PackagedKernel> kernels;

  /// Fails for a folder that is no package, naming the file that is missing or malformed.
  static Expected<Package> read(const std::string &path);
};

/// A package on a device. The driver must outlive it.
class LoadedPackage {
public:
  /// `form`: ptx, cubin, so, or auto (the first form that the driver takes of cubin, PTX, shared object). Fails when
  /// the driver takes none, with what it said about each.
  static Expected<LoadedPackage> load(const Package &package, Driver &driver, const std::string &form = "auto");

  /// Launches all kernels in order; tensors live in memory of the driver. Seconds on the device.
  Expected<double> run(const Bindings &bindings);
  /// "cubin", "ptx" or "so": what was loaded for the first kernel.
  const std::string &form() const { return loadedForm; }

private:
  struct Launch {
    LaunchDescriptor descriptor;
    std::unique_ptr<Module> module;
  };
  Driver *driver = nullptr;
  std::vector<Launch> launches;
  std::string loadedForm;
};

} // namespace fa::runtime
