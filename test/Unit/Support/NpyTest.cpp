#include "fa/Support/Npy.h"
#include "TemporaryFolder.h"
#include "fa/Support/File.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace fa;

namespace {

/// A file from its parts, so that each can be wrong.
std::string file(const std::string &dict, const std::string &data, char version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += version;
  bytes += '\0';
  const std::string header = dict + "\n";
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

template <typename T> std::string raw(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T));
}

std::string error(const std::string &bytes, std::optional<DType> type = std::nullopt) {
  const Expected<NpyArray> array = parseNpy(bytes, "x.npy", type);
  EXPECT_FALSE(array);
  return array ? "" : array.message();
}

double at(const NpyArray &array, size_t i) { return loadAsDouble(array.type, &array.data[i * sizeOf(array.type)]); }

constexpr const char *f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

TEST(Npy, ReadsAllVersions) {
  for (char version : {1, 2, 3}) {
    const auto array = parseNpy(file(f4, raw<float>({0, 1, 2, 3, 4, 5}), version), "x");
    ASSERT_TRUE(array) << array.message();
    EXPECT_EQ(array->sizes, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(at(*array, 5), 5);
  }
}

TEST(Npy, FortranOrderBecomesCOrder) {
  const auto array = parseNpy(file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 2)}",
                                   raw<int16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})),
                              "x");
  ASSERT_TRUE(array) << array.message();
  // Element (i, j, k) lies at i + 2 j + 6 k in the file.
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 2; ++k)
        EXPECT_EQ(at(*array, (i * 3 + j) * 2 + k), i + 2 * j + 6 * k);
}

TEST(Npy, BigEndianIsSwapped) {
  const auto array = parseNpy(
      file("{'shape': (1,), 'fortran_order': False, 'descr': '>f8'}", std::string("\x3f\xf8\0\0\0\0\0\0", 8)), "x");
  ASSERT_TRUE(array) << array.message();
  EXPECT_EQ(at(*array, 0), 1.5);
}

TEST(Npy, RawBitsNeedTheCallersDtype) {
  const std::string bits =
      file("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", raw<uint16_t>({0x3f80, 0xc000}));
  const auto array = parseNpy(bits, "x", DType::BF16);
  ASSERT_TRUE(array) << array.message();
  EXPECT_EQ(at(*array, 0), 1.0);
  EXPECT_EQ(at(*array, 1), -2.0);
  EXPECT_NE(error(bits).find("no dtype was given"), std::string::npos);
  EXPECT_NE(error(bits, DType::F32).find("4 bytes for f32"), std::string::npos);
  EXPECT_TRUE(parseNpy(file("{'descr': '|V2', 'fortran_order': False, 'shape': ()}", "\x80\x3f"), "x", DType::BF16));
  EXPECT_TRUE(parseNpy(file("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", "\x38"), "x", DType::E4M3));
  EXPECT_NE(error(file(f4, std::string(24, '\0')), DType::F64).find("expected dtype f64, but got '<f4'"),
            std::string::npos);
}

TEST(Npy, WriteThenReadEveryType) {
  test::TemporaryFolder folder;
  std::mt19937 random(1);
  for (int t = 0; t <= static_cast<int>(DType::I1); ++t) {
    const auto type = static_cast<DType>(t);
    for (const std::vector<int64_t> &sizes : {std::vector<int64_t>{2, 3, 5}, {7}, {}, {0, 4}, {1, 1, 1, 1, 1, 1}}) {
      int64_t count = 1;
      for (int64_t size : sizes)
        count *= size;
      std::vector<unsigned char> data(static_cast<size_t>(count) * sizeOf(type));
      for (unsigned char &byte : data)
        byte = static_cast<unsigned char>(random());
      const std::string path = folder.path("a.npy");
      ASSERT_TRUE(writeNpy(path, type, sizes, data.data()));
      const bool needsRaw = type == DType::BF16 || type == DType::E4M3 || type == DType::E5M2;
      const auto array = readNpy(path, needsRaw ? std::optional(type) : std::nullopt);
      ASSERT_TRUE(array) << array.message();
      EXPECT_EQ(array->type, type);
      EXPECT_EQ(array->sizes, sizes);
      EXPECT_EQ(array->elements(), count);
      ASSERT_EQ(array->data.size(), data.size());
      EXPECT_TRUE(data.empty() || std::memcmp(array->data.data(), data.data(), data.size()) == 0);
      EXPECT_EQ((*readFile(path)).size() % 64, data.size() % 64) << "data is not aligned";
    }
  }
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Npy, MalformedFilesNameTheFault) {
  const std::string data(24, '\0');
  EXPECT_EQ(error("abc"), "x.npy: expected a .npy file (\\x93NUMPY at its start), but got a file of 3 bytes");
  EXPECT_NE(error(std::string(64, 'a')).find("other bytes"), std::string::npos);
  EXPECT_NE(error(file(f4, data, 9)).find("but got 9.0"), std::string::npos);
  EXPECT_EQ(error(file(f4, data.substr(1))), "x.npy: expected 24 bytes of data for the shape, but got 23");
  EXPECT_NE(error(file(f4, data + "x")).find("but got 25"), std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'shape': (2, 3)}", data)).find("'fortran_order', but it is missing"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'descr': '<f4'}", data)).find("twice"), std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", data)).find("expected a size"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", data)).find("True or False"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", data)).find("structured"),
            std::string::npos);
  EXPECT_NE(error(file("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", data)).find("'<c8'"),
            std::string::npos);
  EXPECT_NE(error(file("{'kind': 1}", data)).find("'kind'"), std::string::npos);
  EXPECT_NE(error(file("hello", data)).find("expected '{' at byte 0"), std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 8)}", data))
                .find("overflows"),
            std::string::npos);
  EXPECT_NE(
      error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", data)).find("2^63"),
      std::string::npos);
  EXPECT_NE(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 8)}", ""))
                .find("overflows"),
            std::string::npos);
}

TEST(Npy, DamagedFilesNeverCrash) {
  const std::string good = file(f4, std::string(24, '\1'), 2);
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parseNpy(good.substr(0, length), "x"));
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips)
      bytes[random() % (bytes.size() - 24)] = static_cast<char>(random());
    if (const auto array = parseNpy(bytes, "x"))
      EXPECT_EQ(array->data.size(), 24u);
  }
}

} // namespace
