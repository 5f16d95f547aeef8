// Loads the checked-in PTX and runs it on a fresh emulated device.
#pragma once
#include "fa/Runtime/Emulator/Emulator.h"
#include "fa/Runtime/Emulator/Engine/TensorMap.h"
#include "fa/Support/File.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace fa::test {
using namespace fa::runtime::emulator;

inline std::string fixturePath(const std::string &name) {
  const char *source = std::getenv("FA_SOURCE_DIR");
  return std::string(source ? source : ".") + "/test/Unit/Runtime/Emulator/" + name;
}
inline std::string fixtureText(const std::string &name) {
  Expected<std::string> text = readFile(fixturePath("Fixtures/" + name));
  EXPECT_TRUE(text) << text.message() << " (set FA_SOURCE_DIR to the source folder)";
  return text ? *text : "";
}

/// Parameter bytes in declaration order, each at its natural alignment.
class Parameters {
public:
  template <typename T> Parameters &add(const T &value) {
    const size_t at = (bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return *this;
  }
  std::vector<uint8_t> bytes;
};
struct alignas(64) MapParameter {
  EncodedTensorMap bytes;
};

/// A device buffer that starts with `values`.
template <typename T> uint64_t upload(Emulator &device, const std::vector<T> &values, const char *name) {
  auto address = device.allocate(values.size() * sizeof(T), name);
  EXPECT_TRUE(address) << address.message();
  Status copied = device.copyToDevice(*address, values.data(), values.size() * sizeof(T));
  EXPECT_TRUE(copied) << copied.message();
  return *address;
}
template <typename T> std::vector<T> download(Emulator &device, uint64_t address, size_t count) {
  std::vector<T> values(count);
  Status copied = device.copyToHost(values.data(), address, count * sizeof(T));
  EXPECT_TRUE(copied) << copied.message();
  return values;
}

/// A map over a row-major matrix.
inline MapParameter matrixMap(TensorMapType type, uint64_t base, uint64_t rows, uint64_t columns, uint32_t boxRows,
                              uint32_t boxColumns, int swizzle) {
  const uint64_t sizes[] = {columns, rows}, strides[] = {columns * sizeOf(type)};
  const uint32_t box[] = {boxColumns, boxRows}, ones[] = {1, 1};
  auto map = makeTensorMap({.type = static_cast<int>(type),
                            .rank = 2,
                            .base = base,
                            .sizes = sizes,
                            .strides = strides,
                            .box = box,
                            .elementStrides = ones,
                            .interleave = 0,
                            .swizzle = swizzle,
                            .l2Promotion = 0,
                            .fill = 0});
  EXPECT_TRUE(map) << map.message();
  return {encodeTensorMap(*map)};
}

} // namespace fa::test
