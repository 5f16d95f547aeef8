// Reading packages and loading them onto a device.
#include "fa/Runtime/Package.h"
#include "fa/Support/File.h"
#include "fa/Support/Text.h"
#include <filesystem>

namespace fa::runtime {
namespace {

Error named(const std::string &file, const Error &error) {
  return makeError(error.message.find(file) == std::string::npos ? file + ": " + error.message : error.message);
}

/// Nothing where the folder does not have the file.
Expected<std::optional<ModuleImage>> readImage(const std::string &file, ModuleImage::Kind kind) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return std::optional<ModuleImage>();
  ModuleImage image;
  image.kind = kind;
  if (kind == ModuleImage::Kind::SharedObject) {
    image.data = file;
    return std::optional(image);
  }
  Expected<std::string> contents = readFile(file);
  if (!contents)
    return contents.error();
  image.data = std::move(*contents);
  return std::optional(std::move(image));
}

Expected<PackagedKernel> readKernel(const std::string &base) {
  PackagedKernel kernel;
  const Expected<std::string> text = readFile(base + ".json");
  if (!text)
    return text.error();
  Expected<LaunchDescriptor> descriptor = LaunchDescriptor::fromJson(*text);
  if (!descriptor)
    return named(base + ".json", descriptor.error());
  kernel.descriptor = std::move(*descriptor);
  const std::tuple<const char *, ModuleImage::Kind, std::optional<ModuleImage> *> forms[] = {
      {".ptx", ModuleImage::Kind::Ptx, &kernel.ptx},
      {".cubin", ModuleImage::Kind::Cubin, &kernel.cubin},
      {".so", ModuleImage::Kind::SharedObject, &kernel.sharedObject}};
  for (const auto &[suffix, kind, image] : forms) {
    Expected<std::optional<ModuleImage>> read = readImage(base + suffix, kind);
    if (!read)
      return read.error();
    *image = std::move(*read);
  }
  if (!kernel.ptx && !kernel.cubin && !kernel.sharedObject)
    return makeError("expected " + base + ".ptx, .cubin or .so beside its descriptor, but there is none");
  return kernel;
}

/// Loads the first wanted form that the driver takes.
Expected<std::pair<std::string, std::unique_ptr<Module>>> loadKernel(const PackagedKernel &kernel, Driver &driver,
                                                                     const std::string &form) {
  const std::pair<const char *, const std::optional<ModuleImage> *> forms[] = {
      {"cubin", &kernel.cubin}, {"ptx", &kernel.ptx}, {"so", &kernel.sharedObject}};
  std::string reasons;
  for (const auto &[name, image] : forms) {
    if (!*image || (form != "auto" && form != name))
      continue;
    // Machine code is looked at before it is mapped: what is wrong with it is then said in full.
    const Status accepted = image == &kernel.sharedObject ? driver.accepts(kernel.descriptor) : Status::success();
    Expected<std::unique_ptr<Module>> module =
        accepted ? driver.loadModule(**image) : Expected<std::unique_ptr<Module>>(accepted.error());
    if (module)
      return std::pair(std::string(name), std::move(*module));
    reasons += std::string(reasons.empty() ? "" : "; ") + name + ": " + module.message();
  }
  return makeError("kernel '" + kernel.descriptor.entry + "': expected code that " + driver.describe() +
                   " takes, but got " + (reasons.empty() ? "no file of form " + form : reasons));
}
} // namespace

Expected<Package> Package::read(const std::string &path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return makeError("expected a package (a folder that fa-compile --emit=package wrote), but got '" + path + "'");
  Package package;
  package.path = path;
  const Expected<std::string> signature = readFile(path + "/signature.json");
  if (!signature)
    return signature.error();
  Expected<FunctionSignature> parsed = FunctionSignature::fromJson(*signature);
  if (!parsed)
    return named(path + "/signature.json", parsed.error());
  package.signature = std::move(*parsed);
  const Expected<std::string> list = readFile(path + "/launches.txt");
  if (!list)
    return list.error();
  for (const std::string &entry : split(*list, '\n')) {
    if (entry.empty())
      continue;
    Expected<PackagedKernel> kernel = readKernel(path + "/" + entry);
    if (!kernel)
      return kernel.error();
    package.kernels.push_back(std::move(*kernel));
  }
  if (package.kernels.empty())
    return makeError(path + "/launches.txt: expected the name of a kernel on each line, but it is empty");
  return package;
}

Expected<LoadedPackage> LoadedPackage::load(const Package &package, Driver &driver, const std::string &form) {
  LoadedPackage loaded;
  loaded.driver = &driver;
  for (const PackagedKernel &kernel : package.kernels) {
    auto module = loadKernel(kernel, driver, form);
    if (!module)
      return module.error();
    if (loaded.launches.empty())
      loaded.loadedForm = module->first;
    loaded.launches.push_back({kernel.descriptor, std::move(module->second)});
  }
  return loaded;
}

Expected<double> LoadedPackage::run(const Bindings &bindings) {
  double seconds = 0;
  for (Launch &launch : launches) {
    Expected<double> time = driver->launch(*launch.module, launch.descriptor, bindings);
    if (!time)
      return time.error();
    seconds += *time;
  }
  return seconds;
}

} // namespace fa::runtime
