// Attention.cu with random inputs, and a float64 attention over the same (rounded) inputs.
#pragma once
#include "FixtureKernels.h"
#include <cmath>
#include <random>

namespace fa::test {

struct AttentionShape {
  int queries = 200, keys = 300, heads = 1;
  bool causal = false;
};

class AttentionKernel {
public:
  static constexpr int depth = 128;

  AttentionKernel(Emulator &device, const AttentionShape &shape) : device(device), shape(shape) {
    std::mt19937 random(17);
    q = makeInput(random, shape.queries), k = makeInput(random, shape.keys), v = makeInput(random, shape.keys);
    const uint64_t dq = upload(device, q, "q"), dk = upload(device, k, "k"), dv = upload(device, v, "v");
    o = allocate(rows(shape.queries) * depth * 2, "o"), lse = allocate(rows(shape.queries) * 4, "lse");
    struct {
      int32_t queries, keys, causal;
      float scale;
    } sizes = {shape.queries, shape.keys, shape.causal, scale() * 1.44269504f};
    request.entry = "attention";
    request.grid[0] = static_cast<uint32_t>((shape.queries + 127) / 128);
    request.grid[1] = static_cast<uint32_t>(shape.heads);
    request.block[0] = 384;
    request.dynamicSharedBytes = 160 * 1024;
    request.parameters = Parameters()
                             .add(map(dq, shape.queries, 64))
                             .add(map(dk, shape.keys, 128))
                             .add(map(dv, shape.keys, 128))
                             .add(map(o, shape.queries, 64))
                             .add(lse)
                             .add(sizes)
                             .bytes;
  }

  Expected<LaunchResult> launch(const Program &program) { return device.launch(program, request); }

  struct Difference {
    double output = 0, rms = 0, lse = 0;
  };
  /// Largest and root-mean-square differences to float64 over every `step`-th row.
  Difference compare(int step = 1) {
    Difference worst;
    const auto gotO = download<uint16_t>(device, o, rows(shape.queries) * depth);
    const auto gotLse = download<float>(device, lse, rows(shape.queries));
    double squares = 0, count = 0;
    for (int head = 0; head < shape.heads; ++head)
      for (int i = 0; i < shape.queries; i += step) {
        const size_t row = static_cast<size_t>(head * shape.queries + i);
        double expectedLse = 0;
        const std::vector<double> expected = reference(head, i, expectedLse);
        const double got = static_cast<double>(gotLse[row]);
        worst.lse = std::max(worst.lse, got == expectedLse ? 0 : distance(got, expectedLse));
        for (int d = 0; d < depth; ++d) {
          const double difference =
              distance(fromBF16(gotO[row * depth + static_cast<size_t>(d)]), expected[static_cast<size_t>(d)]);
          worst.output = std::max(worst.output, difference);
          squares += difference * difference, ++count;
        }
      }
    worst.rms = std::sqrt(squares / std::max(count, 1.0));
    return worst;
  }

private:
  Emulator &device;
  AttentionShape shape;
  std::vector<uint16_t> q, k, v;
  uint64_t o = 0, lse = 0;
  LaunchRequest request;

  static float scale() { return 1.0f / std::sqrt(static_cast<float>(depth)); }
  /// NaN counts as infinitely far.
  static double distance(double a, double b) { return std::isnan(a - b) ? INFINITY : std::fabs(a - b); }
  size_t rows(int length) const { return static_cast<size_t>(length) * static_cast<size_t>(shape.heads); }
  std::vector<uint16_t> makeInput(std::mt19937 &random, int length) const {
    std::normal_distribution<double> normal;
    std::vector<uint16_t> bits(rows(length) * depth);
    for (uint16_t &x : bits)
      x = toBF16(normal(random));
    return bits;
  }
  uint64_t allocate(size_t bytes, const char *name) {
    auto address = device.allocate(bytes, name);
    EXPECT_TRUE(address) << address.message();
    return *address;
  }
  MapParameter map(uint64_t base, int length, uint32_t boxRows) const {
    const uint64_t sizes[] = {depth, static_cast<uint64_t>(length), static_cast<uint64_t>(shape.heads)};
    const uint64_t strides[] = {depth * 2, static_cast<uint64_t>(length) * depth * 2};
    const uint32_t box[] = {64, boxRows, 1}, ones[] = {1, 1, 1};
    auto made = makeTensorMap({.type = static_cast<int>(TensorMapType::BF16),
                               .rank = 3,
                               .base = base,
                               .sizes = sizes,
                               .strides = strides,
                               .box = box,
                               .elementStrides = ones,
                               .interleave = 0,
                               .swizzle = 3,
                               .l2Promotion = 0,
                               .fill = 0});
    EXPECT_TRUE(made) << made.message();
    return {encodeTensorMap(*made)};
  }
  double element(const std::vector<uint16_t> &values, int length, int head, int row, int d) const {
    return fromBF16(
        values[(static_cast<size_t>(head) * static_cast<size_t>(length) + static_cast<size_t>(row)) * depth +
               static_cast<size_t>(d)]);
  }
  std::vector<double> reference(int head, int i, double &logSum) const {
    std::vector<double> scores, out(depth);
    const int visible = shape.causal ? std::min(shape.keys, i + shape.keys - shape.queries + 1) : shape.keys;
    double largest = -INFINITY, sum = 0;
    for (int j = 0; j < visible; ++j) {
      double s = 0;
      for (int d = 0; d < depth; ++d)
        s += element(q, shape.queries, head, i, d) * element(k, shape.keys, head, j, d);
      scores.push_back(s * static_cast<double>(scale()));
      largest = std::max(largest, scores.back());
    }
    for (int j = 0; j < visible; ++j) {
      const double p = std::exp(scores[static_cast<size_t>(j)] - largest);
      sum += p;
      for (int d = 0; d < depth; ++d)
        out[static_cast<size_t>(d)] += p * element(v, shape.keys, head, j, d);
    }
    for (double &x : out)
      x = visible > 0 ? x / sum : 0;
    logSum = visible > 0 ? largest + std::log(sum) : -INFINITY;
    return out;
  }
};

/// For the mutation tests: right means within the bars of ptx-semantics section 2.
inline Expected<FixtureRun> runAttention(const std::string &ptx, const Options &options, const AttentionShape &shape) {
  Emulator device(options);
  auto program = device.load(ptx);
  if (!program)
    return program.error();
  AttentionKernel kernel(device, shape);
  auto result = kernel.launch(**program);
  if (!result)
    return result.error();
  device.resetError();
  const auto difference = kernel.compare(7);
  return FixtureRun{std::move(*result), difference.output <= 1e-2 && difference.rms <= 1e-3 && difference.lse <= 1e-5};
}

} // namespace fa::test
