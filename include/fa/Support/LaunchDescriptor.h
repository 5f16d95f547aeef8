// The one contract between the compiler and the runtime: how to launch one kernel for any sizes.
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa {

/// Where the symbols of an expression get their value from.
using SymbolTable = std::function<std::optional<int64_t>(const std::string &name)>;

/// Evaluates an integer expression: + - * / % (floor), comparisons (0 or 1), && ||, parentheses, names such as
/// `Sq` or `q.dim2`, and the functions ceildiv, floordiv, min, max. Errors name the column.
/// The side of && and || that does not decide is not computed. Overflow and division by zero are errors.
Expected<int64_t> evaluateExpression(const std::string &text, const SymbolTable &symbols);
/// Whether the text is an expression at all; needs no symbols.
Status checkExpressionSyntax(const std::string &text);

/// One argument of a kernel, in order.
struct KernelArgument {
  enum class Kind {
    TensorMap, ///< 128-byte CUtensorMap over `tensor` (grid constant parameter)
    Pointer,   ///< base address of `tensor`, offset applied
    Stride,    ///< stride of `tensor` in dimension `dim`, in elements, i64
    Dim,       ///< size of `tensor` in dimension `dim`, i64
    Scalar,    ///< named scalar, or an expression over the symbols when `expression` is set
    MemRef,    ///< (abi so) pointer to {allocated, aligned, offset, sizes[rank], strides[rank]}
    Scratch,   ///< (abi so) pointer to a memref<?xi8> descriptor: `scratchBytes` of 64-byte aligned memory, private to
               ///< the thread and uninitialised; (abi ptx) address of `scratchBytes` of device memory
  };
  Kind kind = Kind::Pointer;
  std::string tensor;       ///< TensorMap, Pointer, Stride, Dim, MemRef
  int dim = 0;              ///< Stride, Dim
  std::string scalar;       ///< Scalar: its name
  DType type = DType::I64;  ///< Scalar: its type
  std::string expression;   ///< Scalar: computed from symbols instead of named
  std::vector<int64_t> box; ///< TensorMap: innermost dimension first, elements
  std::vector<int> order;   ///< TensorMap: tensor dims, innermost first (default: reversed)
  int swizzle = 0;          ///< TensorMap: 0, 32, 64 or 128 bytes
  int rank = 0;             ///< MemRef
};

/// The CPU that machine code is for (abi so). Empty: the machine that made it.
struct CpuRequirement {
  std::string architecture;          ///< `x86_64`, `aarch64`; empty: no requirement
  std::vector<std::string> features; ///< that the code may use, in LLVM's names (`avx2`, `fma`), sorted

  bool empty() const { return architecture.empty() && features.empty(); }
};

/// A condition on shapes or strides, checked before every launch.
struct Guard {
  std::string condition; ///< e.g. `q.stride2 % 8 == 0`
  std::string remedy;    ///< what the user can do about it
};

/// A tensor that a launch derives from one that it is given, or from an earlier one of these: a view that the function
/// makes. Elements; expressions as everywhere.
struct DerivedTensor {
  std::string name, of;
  std::vector<std::string> sizes, strides;
  std::string offset = "0"; ///< from the first element of `of`
};

/// Sizes are expressions over `symbols` and `<tensor>.dim<N>` / `<tensor>.stride<N>`, so that lengths change without
/// recompiling. JSON form: docs/LaunchDescriptor.md.
struct LaunchDescriptor {
  static constexpr int currentVersion = 2;
  int version = currentVersion;
  std::string entry;
  std::string abi; ///< "ptx" or "so"
  std::string grid[3] = {"1", "1", "1"};
  int64_t block[3] = {1, 1, 1};
  int64_t cluster[3] = {1, 1, 1};
  std::string sharedBytes = "0";
  std::string scratchBytes = "0";
  std::map<std::string, std::string> symbols; ///< name -> expression
  std::vector<DerivedTensor> views;           ///< in order
  std::vector<KernelArgument> arguments;
  std::vector<Guard> guards;
  CpuRequirement cpu;           ///< checked before code is loaded and before every launch
  std::string order = "linear"; ///< how a CPU walks the grid: "linear" or "heavy_first" (last block first)

  /// Pretty-printed, ends with a newline; stable, so that it can be compared.
  std::string toJson() const;
  /// Refuses unknown keys, missing keys, wrong types, expressions that do not parse, a newer version; the error names
  /// the key.
  static Expected<LaunchDescriptor> fromJson(const std::string &text);
};

} // namespace fa
