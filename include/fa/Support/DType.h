// Element types of tensors, and their rounding from float64.
#pragma once
#include "fa/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fa {

enum class DType : uint8_t { F64, F32, F16, BF16, E4M3, E5M2, I64, I32, I16, I8, U8, I1 };

/// Bytes of one element (i1 takes one byte in memory).
size_t sizeOf(DType type);
/// MLIR's spelling: f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64, i32, i16, i8, ui8, i1.
std::string_view nameOf(DType type);
/// Accepts MLIR's spelling and NumPy's (float32, bfloat16, ...).
Expected<DType> parseDType(std::string_view name);
bool isFloat(DType type);

/// Round to nearest even; overflow becomes infinity (e4m3: NaN, it has no infinity), NaN stays NaN.
uint16_t toF16(double value);
uint16_t toBF16(double value);
uint8_t toE4M3(double value);
uint8_t toE5M2(double value);
double fromF16(uint16_t bits);
double fromBF16(uint16_t bits);
double fromE4M3(uint8_t bits);
double fromE5M2(uint8_t bits);

/// Reads / writes one element of any type as float64 (integers are converted).
double loadAsDouble(DType type, const void *element);
void storeFromDouble(DType type, void *element, double value);

} // namespace fa
