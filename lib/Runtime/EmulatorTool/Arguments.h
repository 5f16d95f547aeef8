// The argument grammar of fa-emulate:
//   in:FILE.npy[:TYPE]             a buffer filled from a file (TYPE for bf16 and f8, which .npy cannot name)
//   out:FILE.npy:TYPE:SHAPE        an uninitialised buffer, written to a file afterwards (SHAPE: 2x128)
//   inout:FILE.npy:OUT.npy[:TYPE]  both
//   map:N:box=64x64[:swizzle=128]  a tensor map over the buffer of argument N (box: innermost dimension first)
//   scratch:BYTES                  device memory nobody looks at
//   TYPE:NUMBER                    a scalar: f32:0.5, i32:-3, i64:1024
#pragma once
#include "fa/Runtime/Driver.h"
#include <optional>

namespace fa::runtime::tool {

struct Buffer {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<std::byte> data; ///< empty: uninitialised
  std::string outputPath;      ///< empty: not written

  size_t bytes() const;
  /// Row-major strides, in elements.
  std::vector<int64_t> strides() const;
};

struct Argument {
  enum class Kind { Buffer, TensorMap, Scratch, Scalar } kind = Kind::Scalar;
  Buffer buffer;
  size_t mapOf = 0; ///< TensorMap: index of a Buffer argument
  std::vector<int64_t> box;
  int swizzle = 0;
  uint64_t scratchBytes = 0;
  std::vector<uint8_t> scalar;
};

Expected<Argument> parseArgument(const std::string &text, size_t index);
/// in, out or inout; `name` appears in reports.
Expected<Buffer> parseBuffer(const std::string &text, const std::string &name);
/// "4", "4,2" or "4,2,1".
Status parseTriple(const std::string &text, const char *what, uint32_t (&result)[3]);
/// "2x128": positive sizes.
Expected<std::vector<int64_t>> parseShape(const std::string &text);

} // namespace fa::runtime::tool
