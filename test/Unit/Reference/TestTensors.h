// Tensors for the tests of the reference: typed storage, filled at random or from a function.
#pragma once
#include "fa/Reference/Problem.h"
#include <functional>
#include <random>

namespace fa::test {

/// Owns its elements; dense [B, H, S, D] (or [B, H, S] for LSE).
struct TestTensor {
  DType type;
  std::vector<int64_t> sizes;
  std::vector<unsigned char> data;

  TestTensor(DType type, std::vector<int64_t> sizes) : type(type), sizes(std::move(sizes)) {
    int64_t count = 1;
    for (int64_t size : this->sizes)
      count *= size;
    data.resize(static_cast<size_t>(count) * sizeOf(type));
  }

  size_t count() const { return data.size() / sizeOf(type); }
  reference::TensorView view() const { return reference::TensorView::dense(type, data.data(), sizes); }
  void set(size_t i, double value) { storeFromDouble(type, &data[i * sizeOf(type)], value); }
  double get(size_t i) const { return loadAsDouble(type, &data[i * sizeOf(type)]); }

  TestTensor &fill(double value) {
    return fill([=](size_t) { return value; });
  }
  TestTensor &fill(const std::function<double(size_t)> &value) {
    for (size_t i = 0; i < count(); ++i)
      set(i, value(i));
    return *this;
  }
  TestTensor &random(unsigned seed, double spread = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0, spread);
    return fill([&](size_t) { return normal(engine); });
  }
};

/// Q, K and V of one problem.
struct TestProblem {
  TestTensor q, k, v;
  reference::Problem problem;

  TestProblem(DType type, int64_t b, int64_t hq, int64_t hkv, int64_t sq, int64_t sk, int64_t d, int64_t dv)
      : q(type, {b, hq, sq, d}), k(type, {b, hkv, sk, d}), v(type, {b, hkv, sk, dv}) {
    problem.query = q.view();
    problem.key = k.view();
    problem.value = v.view();
    problem.scale = 1 / std::sqrt(static_cast<double>(d));
  }
  /// One head, equal depths.
  TestProblem(DType type, int64_t sq, int64_t sk, int64_t d) : TestProblem(type, 1, 1, 1, sq, sk, d, d) {}
  TestProblem(const TestProblem &) = delete;
  TestProblem &operator=(const TestProblem &) = delete;

  void random(unsigned seed, double spread = 1) {
    q.random(seed, spread);
    k.random(seed + 1, spread);
    v.random(seed + 2);
  }
};

} // namespace fa::test
