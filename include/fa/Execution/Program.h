// A host function that computes attention, and what its arguments are: from a file, from text or from a spec.
#pragma once
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Execution/AttentionSpec.h"
#include "fa/Runtime/Host/HostTensor.h"
#include "fa/Support/FunctionSignature.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fa::execution {
using runtime::HostTensor;
using runtime::TensorLayout;

/// One argument of the host function.
struct Argument {
  std::string name; ///< `fa.name`, or its role (q, k, v, o, lse), or arg<N>
  bool isTensor = true;
  bool isOutput = false;
  DType type = DType::F32;
  std::vector<int64_t> sizes;   ///< mlir::ShapedType::kDynamic where the type says `?`
  std::vector<int64_t> strides; ///< kDynamic where the type leaves it open
  int64_t offset = 0;           ///< kDynamic likewise
  std::string fill;             ///< `fa.fill`: contents unless the user says otherwise
};

/// Collects the diagnostics of a context into one text.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context);
  ~DiagnosticText();
  /// Errors first with their notes, one per line, `file:line:column: error: ...`; `fallback` if there were none.
  std::string errors(const std::string &fallback) const;
  /// Remarks and warnings, in order.
  const std::vector<std::string> &remarks() const { return remarkLines; }

private:
  mlir::MLIRContext &context;
  uint64_t handler;
  std::string errorText;
  std::vector<std::string> remarkLines;
};

/// Owns its context; not for several threads at a time. Tensors were bufferized away: results are arguments.
class Program {
public:
  /// `entry` empty: the only function of the file, or @attention.
  static Expected<Program> fromFile(const std::string &path, const std::string &entry = "");
  static Expected<Program> fromText(const std::string &text, const std::string &name, const std::string &entry = "");
  static Expected<Program> fromSpec(const AttentionSpec &spec);

  mlir::MLIRContext &context() const { return *ownedContext; }
  mlir::ModuleOp module() const { return ownedModule.get(); }
  mlir::func::FuncOp function() const;
  const std::vector<Argument> &arguments() const { return argumentList; }
  /// The fa.attention of the function, or null when it has none or several.
  mlir::fa::AttentionOp attention() const;
  /// The module as it was read.
  const std::string &sourceText() const { return source; }

  /// Sizes and strides for one run. `sizes` gives those that the types leave open, and may repeat the others; sizes of
  /// query, key, value and outputs imply one another. Open strides are row-major. Fails with the flag that is missing.
  Expected<std::map<std::string, TensorLayout>> layouts(const std::map<std::string, std::vector<int64_t>> &sizes) const;
  /// The arguments for a package: an open size that equals one of an earlier argument says so.
  FunctionSignature signature() const;

private:
  Program() = default;
  std::unique_ptr<mlir::MLIRContext> ownedContext;
  mlir::OwningOpRef<mlir::ModuleOp> ownedModule;
  std::string entryName, source;
  std::vector<Argument> argumentList;

  Status findEntry(const std::string &entry);
  void dropUnused();
  Status bufferize();
  Status describeArguments();
};

} // namespace fa::execution
