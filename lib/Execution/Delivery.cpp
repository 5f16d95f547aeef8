// Files of ahead-of-time compilation.
#include "Delivery.h"
#include "fa/Support/File.h"
#include <filesystem>
#include <system_error>

namespace fa::execution {

Status Delivery::text(const std::string &contents) {
  if (options.output.empty()) {
    result.text = contents;
    return Status::success();
  }
  return file(options.output, contents);
}

Status Delivery::file(const std::string &path, const std::string &contents) {
  if (Status status = writeFileAtomically(path, {contents}); !status)
    return status;
  wrote(path);
  return Status::success();
}

Status Delivery::beginPackage() {
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error)
    return makeError("expected to create the folder '" + options.output + "', but got: " + error.message());
  return Status::success();
}

Status Delivery::endPackage(const Program &program, const std::vector<std::string> &kernels) {
  std::string list;
  for (const std::string &kernel : kernels)
    list += kernel + "\n";
  if (Status status = file(options.output + "/signature.json", program.signature().toJson()); !status)
    return status;
  return file(options.output + "/launches.txt", list);
}

CompileOptions dumpingStage(const AheadOfTimeOptions &options, std::string &dumped) {
  CompileOptions compile = options.compile;
  if (options.emit == "mlir") {
    compile.dump = {options.stage};
    compile.onDump = [&dumped](const std::string &, const std::string &ir) { dumped = ir; };
  }
  return compile;
}

Status deliverStage(const AheadOfTimeOptions &options, const std::string &dumped, Delivery &delivery) {
  if (dumped.empty())
    return makeError("expected a stage of target " + options.target + ", but '" + options.stage + "' is none");
  return delivery.text(dumped);
}

} // namespace fa::execution
