// Where the result of ahead-of-time compilation goes: standard output, a file, or the folder of a package.
#pragma once
#include "fa/Execution/AheadOfTime.h"

namespace fa::execution {

class Delivery {
public:
  Delivery(const AheadOfTimeOptions &options, AheadOfTimeResult &result) : options(options), result(result) {}

  /// To `-o`, or into the result for standard output.
  Status text(const std::string &contents);
  /// Whole or not at all.
  Status file(const std::string &path, const std::string &contents);
  /// Notes a file that somebody else wrote.
  void wrote(const std::string &path) { result.files.push_back(path); }
  void say(const std::string &message) { result.messages.push_back(message); }

  Status beginPackage();
  /// Path of a kernel's files in the package, without a suffix.
  std::string pathOf(const std::string &kernel) const { return options.output + "/" + kernel; }
  /// The signature, and the kernels in the order of their launches.
  Status endPackage(const Program &program, const std::vector<std::string> &kernels);

private:
  const AheadOfTimeOptions &options;
  AheadOfTimeResult &result;
};

/// The two targets: each compiles and delivers what `options.emit` asks for, which was checked.
Status compileGpuAheadOfTime(const Program &program, const AheadOfTimeOptions &options, Delivery &delivery,
                             CompileReport &report);
Status compileCpuAheadOfTime(const Program &program, const AheadOfTimeOptions &options, Delivery &delivery,
                             CompileReport &report);

/// `compile` options whose dump of the wanted stage ends up in `dumped`, when IR is what is wanted.
CompileOptions dumpingStage(const AheadOfTimeOptions &options, std::string &dumped);
Status deliverStage(const AheadOfTimeOptions &options, const std::string &dumped, Delivery &delivery);

} // namespace fa::execution
