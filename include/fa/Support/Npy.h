// NumPy's .npy files, versions 1 to 3 (format: numpy.lib.format in NumPy's reference).
#pragma once
#include "fa/Support/DType.h"
#include "fa/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fa {

/// A dense tensor in C order (last dimension contiguous), native byte order.
struct NpyArray {
  DType type = DType::F32;
  std::vector<int64_t> sizes;
  std::vector<std::byte> data;

  int64_t elements() const;
};

/// Reads a file of dtype f8, f4, f2, i8, i4, i2, i1, u1 or b1 in either byte order and in C or Fortran order (turned
/// into C order). NumPy has no bf16 and no f8: such tensors are stored as raw bits (`<u2`, `|V2`; `|u1`, `|V1`), and
/// the caller says what they mean by `rawType`. When the file's dtype is a number type, `rawType` must be absent or
/// equal to it. Errors name the file, what was expected there and what was found; no element is converted.
Expected<NpyArray> readNpy(const std::string &path, std::optional<DType> rawType = std::nullopt);

/// The same from the bytes of a file; `name` stands for the path in errors.
Expected<NpyArray> parseNpy(const std::string &bytes, const std::string &name,
                            std::optional<DType> rawType = std::nullopt);

/// Writes version 1 (2 if the header needs it), C order, atomically. bf16 becomes `<u2`, the f8 types `|u1`.
Status writeNpy(const std::string &path, DType type, const std::vector<int64_t> &sizes, const void *data);

} // namespace fa
