// Packing turns strides and types into plain arrays once per head.
#include "PackedHead.h"
#include "Kernels.h"
#include <algorithm>
#include <cmath>

namespace fa::reference {

template <typename Element> void loadRow(const TensorView &tensor, int64_t b, int64_t h, int64_t s, Element *row) {
  const auto width = static_cast<int64_t>(sizeOf(tensor.type));
  const auto &strides = tensor.strides;
  const auto *base =
      static_cast<const char *>(tensor.data) + (b * strides[0] + h * strides[1] + s * strides[2]) * width;
  for (int64_t d = 0; d < tensor.sizes[3]; ++d)
    row[d] = static_cast<Element>(loadAsDouble(tensor.type, base + d * strides[3] * width));
}

template <typename Element> void PackedHead<Element>::load(const Problem &problem, int64_t batch, int64_t kvHead) {
  if (batch == loadedBatch && kvHead == loadedHead)
    return;
  loadedBatch = batch;
  loadedHead = kvHead;
  const int64_t count = problem.keys(), depth = problem.depth(), depthV = problem.depthV();
  keyStride = (count + keyGroup - 1) / keyGroup * keyGroup;
  keys.assign(static_cast<size_t>(depth * keyStride), 0);
  values.resize(static_cast<size_t>(count * depthV));
  keyNorm.assign(static_cast<size_t>(count), 0);
  valueMax.assign(static_cast<size_t>(count), 0);
  std::vector<Element> row(static_cast<size_t>(depth));
  for (int64_t j = 0; j < count; ++j) {
    loadRow(problem.key, batch, kvHead, j, row.data());
    double squares = 0;
    for (int64_t d = 0; d < depth; ++d) {
      keys[static_cast<size_t>(d * keyStride + j)] = row[static_cast<size_t>(d)];
      squares += static_cast<double>(row[static_cast<size_t>(d)]) * static_cast<double>(row[static_cast<size_t>(d)]);
    }
    keyNorm[static_cast<size_t>(j)] = std::sqrt(squares);
    Element *value = values.data() + static_cast<size_t>(j * depthV);
    loadRow(problem.value, batch, kvHead, j, value);
    for (int64_t d = 0; d < depthV; ++d)
      valueMax[static_cast<size_t>(j)] =
          std::max(valueMax[static_cast<size_t>(j)], std::abs(static_cast<double>(value[d])));
  }
}

template class PackedHead<float>;
template class PackedHead<double>;
template void loadRow(const TensorView &, int64_t, int64_t, int64_t, float *);
template void loadRow(const TensorView &, int64_t, int64_t, int64_t, double *);
template void loadRow(const TensorView &, int64_t, int64_t, int64_t, long double *);

} // namespace fa::reference
