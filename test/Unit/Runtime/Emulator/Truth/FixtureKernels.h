// The correct kernels of Fixtures/ with inputs and expected outputs; used as they are and by the mutation tests.
#pragma once
#include "Fixture.h"
#include "fa/Support/DType.h"
#include <functional>

namespace fa::test {

/// Runs one PTX text and says whether the output is right.
struct FixtureRun {
  LaunchResult result;
  bool outputsRight = false;
};
using FixtureRunner = std::function<Expected<FixtureRun>(const std::string &ptx, const Options &options)>;

inline int smallInteger(size_t i) { return static_cast<int>((i * 2654435761u >> 13) % 3) - 1; }

/// O = (Q K^T) V of TwoProducts.cu: 256 queries, `keys` keys, depth 64, values in {-1, 0, 1}.
inline Expected<FixtureRun> runTwoProducts(const std::string &ptx, const Options &options, uint32_t keys = 256) {
  constexpr size_t rows = 256, depth = 64;
  Emulator device(options);
  auto program = device.load(ptx);
  if (!program)
    return program.error();
  std::vector<int> q(rows * depth), k(keys * depth), v(keys * depth);
  auto uploadBf16 = [&](std::vector<int> &values, const char *name, size_t salt) {
    std::vector<uint16_t> bits;
    for (size_t i = 0; i < values.size(); ++i)
      bits.push_back(toBF16(values[i] = smallInteger(i + salt)));
    return upload(device, bits, name);
  };
  const uint64_t dq = uploadBf16(q, "q", 0), dk = uploadBf16(k, "k", 77), dv = uploadBf16(v, "v", 1234);
  auto out = device.allocate(rows * depth * 2, "o");
  if (!out)
    return out.error();
  auto map = [&](uint64_t base, uint64_t count) {
    return matrixMap(TensorMapType::BF16, base, count, depth, 64, 64, 3);
  };
  LaunchRequest request;
  request.entry = "two_products";
  request.grid[0] = rows / 128;
  request.block[0] = 384;
  request.dynamicSharedBytes = 6 * 8192;
  request.parameters = Parameters()
                           .add(map(dq, rows))
                           .add(map(dk, keys))
                           .add(map(dv, keys))
                           .add(map(*out, rows))
                           .add(static_cast<uint32_t>(keys / 64))
                           .bytes;
  auto result = device.launch(**program, request);
  if (!result)
    return result.error();
  device.resetError();
  FixtureRun run{std::move(*result), true};
  const auto o = download<uint16_t>(device, *out, rows * depth);
  std::vector<int> scores(keys);
  for (size_t i = 0; i < rows && run.outputsRight; ++i) {
    for (size_t j = 0; j < keys; ++j) {
      scores[j] = 0;
      for (size_t c = 0; c < depth; ++c)
        scores[j] += q[i * depth + c] * k[j * depth + c];
    }
    for (size_t d = 0; d < depth; ++d) {
      int sum = 0;
      for (size_t j = 0; j < keys; ++j)
        sum += scores[j] * v[j * depth + d];
      run.outputsRight = run.outputsRight && o[i * depth + d] == toBF16(sum);
    }
  }
  return run;
}

/// C = A B^T of MmaProduct.cu: 128 x 64, k = 192, f16 integers.
inline Expected<FixtureRun> runMmaProduct(const std::string &ptx, const Options &options) {
  constexpr size_t m = 128, n = 64, k = 192;
  Emulator device(options);
  auto program = device.load(ptx);
  if (!program)
    return program.error();
  std::vector<uint16_t> a(m * k), b(n * k);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = toF16(smallInteger(i) * 3 + static_cast<int>(i % 5));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = toF16(smallInteger(i + 99) - static_cast<int>(i % 7));
  const uint64_t da = upload(device, a, "a"), db = upload(device, b, "b");
  auto out = device.allocate(m * n * 4, "c");
  if (!out)
    return out.error();
  LaunchRequest request;
  request.entry = "mma_product";
  request.grid[0] = m / 64;
  request.block[0] = 128;
  request.parameters = Parameters().add(da).add(db).add(*out).add(int32_t(n)).add(int32_t(k)).bytes;
  auto result = device.launch(**program, request);
  if (!result)
    return result.error();
  device.resetError();
  FixtureRun run{std::move(*result), true};
  const auto c = download<float>(device, *out, m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t e = 0; e < k; ++e)
        sum += fromF16(a[i * k + e]) * fromF16(b[j * k + e]);
      run.outputsRight = run.outputsRight && c[i * n + j] == static_cast<float>(sum);
    }
  return run;
}

/// Cluster.cu: output = 10 + 3 * input over four blocks (1x and 2x of the tile are reduced onto 10); each block stores
/// the message of its neighbour.
inline Expected<FixtureRun> runCluster(const std::string &ptx, const Options &options) {
  constexpr size_t rows = 64, columns = 32;
  Emulator device(options);
  auto program = device.load(ptx);
  if (!program)
    return program.error();
  std::vector<float> input(rows * columns), start(rows * columns, 10.0f);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<float>(i % 97);
  const uint64_t in = upload(device, input, "input"), out = upload(device, start, "output"),
                 flags = upload(device, std::vector<uint32_t>(4), "flags");
  auto map = [&](uint64_t base) { return matrixMap(TensorMapType::F32, base, rows, columns, 32, 32, 0); };
  LaunchRequest request;
  request.entry = "cluster_sum";
  request.grid[0] = 4;
  request.block[0] = 128;
  request.cluster[0] = 2;
  request.parameters = Parameters().add(map(in)).add(map(out)).add(flags).bytes;
  auto result = device.launch(**program, request);
  if (!result)
    return result.error();
  device.resetError();
  FixtureRun run{std::move(*result), true};
  const auto sums = download<float>(device, out, rows * columns);
  for (size_t i = 0; i < sums.size(); ++i)
    run.outputsRight = run.outputsRight && sums[i] == 10.0f + 3.0f * input[i];
  run.outputsRight =
      run.outputsRight && download<uint32_t>(device, flags, 4) == std::vector<uint32_t>({11, 10, 11, 10});
  return run;
}

} // namespace fa::test
