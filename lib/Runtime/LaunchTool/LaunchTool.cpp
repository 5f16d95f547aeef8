// The order of one launch: flags, package, device, runs, comparison, outputs.
#include "fa/Runtime/LaunchTool/LaunchTool.h"
#include "Arguments.h"
#include "Devices.h"
#include "Report.h"
#include "fa/Runtime/Package.h"
#include "fa/Support/Npy.h"
#include <algorithm>
#include <chrono>
#include <ostream>

namespace fa::runtime {
namespace {
using namespace launcher;

Status checkChoices(const LaunchToolOptions &options) {
  if (options.repeat < 1 || options.repeat > 1000000)
    return makeError("expected --repeat between 1 and 1000000, but got " + std::to_string(options.repeat));
  if (options.warmUp < 0 || options.warmUp > 1000000)
    return makeError("expected --warm-up between 0 and 1000000, but got " + std::to_string(options.warmUp));
  const auto one = [](const std::string &flag, const std::string &value, std::initializer_list<const char *> choices) {
    std::string list;
    for (const char *choice : choices)
      list += (list.empty() ? "" : ", ") + std::string(choice);
    return std::find(choices.begin(), choices.end(), value) != choices.end()
               ? Status::success()
               : Status(makeError("expected " + flag + " to be one of " + list + ", but got '" + value + "'"));
  };
  for (const Status &status : {one("--device", options.device, {"cuda", "emulator", "cpu"}),
                               one("--form", options.form, {"auto", "cubin", "ptx", "so"}),
                               one("--format", options.format, {"table", "json"})})
    if (!status)
      return status;
  return Status::success();
}

class Session {
public:
  explicit Session(const LaunchToolOptions &options) : options(options) {}

  /// Everything that can be wrong before anything runs.
  Status prepare() {
    Expected<Package> read = Package::read(options.package);
    if (!read)
      return read.error();
    package = std::move(*read);
    for (const std::string &text : options.outputs) {
      Expected<std::pair<std::string, std::string>> pair = parsePair("--output", text);
      if (!pair)
        return pair.error();
      if (Status status = checkTensor(package.signature, "--output", pair->first); !status)
        return status;
      outputs.push_back(std::move(*pair));
    }
    for (const std::string &text : options.expected) {
      Expected<Expectation> expectation = Expectation::parse(text);
      if (!expectation)
        return expectation.error();
      if (Status status = checkTensor(package.signature, "--expect", expectation->tensor); !status)
        return status;
      expectations.push_back(std::move(*expectation));
    }
    Expected<Arguments> made = Arguments::create(package.signature, options);
    if (!made)
      return made.error();
    arguments = std::move(*made);
    return Status::success();
  }

  Expected<LaunchReport> run() {
    Expected<std::unique_ptr<Driver>> created = createDevice(options);
    if (!created)
      return created.error();
    const std::unique_ptr<Driver> driver = std::move(*created);
    const auto start = std::chrono::steady_clock::now();
    Expected<LoadedPackage> loaded = LoadedPackage::load(package, *driver, options.form);
    if (!loaded)
      return loaded.error();
    LaunchReport report;
    report.loadSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.package = package.path;
    report.device = driver->describe();
    report.form = loaded->form();
    for (const PackagedKernel &kernel : package.kernels)
      report.kernels.push_back(kernel.descriptor.entry);
    for (const SignatureArgument &argument : package.signature.arguments)
      if (argument.isTensor)
        report.shapes.emplace_back(argument.name, arguments.tensors.at(argument.name).sizes());
    if (Status status = execute(*driver, *loaded, report); !status)
      return status.error();
    if (Status status = finish(report); !status)
      return status.error();
    return report;
  }

private:
  const LaunchToolOptions &options;
  Package package;
  std::vector<std::pair<std::string, std::string>> outputs;
  std::vector<Expectation> expectations;
  Arguments arguments;

  Status execute(Driver &driver, LoadedPackage &loaded, LaunchReport &report) {
    Bindings onDevice = arguments.bindings;
    DeviceTensors device(driver);
    if (Status status = device.upload(arguments.tensors, onDevice); !status)
      return status;
    for (int n = -options.warmUp; n < options.repeat; ++n) {
      selectSchedule(driver, static_cast<uint64_t>(std::max(n, 0)));
      Expected<double> seconds = loaded.run(onDevice);
      if (!seconds)
        return seconds.error();
      if (n >= 0)
        report.seconds.push_back(*seconds);
    }
    for (const SignatureArgument &argument : package.signature.arguments)
      if (argument.isTensor && argument.isOutput) {
        HostTensor &tensor = arguments.tensors.at(argument.name);
        if (Status status = device.download(tensor); !status)
          return status;
        if (Status status = tensor.checkSurroundings(); !status)
          return status;
      }
    return Status::success();
  }

  Status finish(LaunchReport &report) {
    for (const Expectation &expectation : expectations) {
      Expected<Comparison> comparison = compare(expectation, arguments.tensors.at(expectation.tensor));
      if (!comparison)
        return comparison.error();
      report.comparisons.push_back(std::move(*comparison));
    }
    for (const auto &[name, path] : outputs) {
      const HostTensor &tensor = arguments.tensors.at(name);
      if (Status status = writeNpy(path, tensor.type(), tensor.sizes(), tensor.toDense().data()); !status)
        return status;
    }
    return Status::success();
  }
};
} // namespace

int runLaunchTool(const LaunchToolOptions &options, std::ostream &out, std::ostream &err) {
  const auto fail = [&](const Error &error, int code) {
    err << "fa-launch: " << error.message << "\n";
    return code;
  };
  if (Status status = checkChoices(options); !status)
    return fail(status.error(), launchUsage);
  Session session(options);
  if (Status status = session.prepare(); !status)
    return fail(status.error(), launchFailed);
  const Expected<LaunchReport> report = session.run();
  if (!report)
    return fail(report.error(), launchFailed);
  out << (options.format == "json" ? toJson(*report) : toTable(*report)) << std::flush;
  if (!out)
    return fail(makeError("expected to write to standard output"), launchFailed);
  return report->passed() ? launchPassed : launchFailed;
}

} // namespace fa::runtime
