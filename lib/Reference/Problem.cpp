// Shapes of an attention problem, checked before anything is read.
#include "fa/Reference/Problem.h"
#include "fa/Support/Text.h"

namespace fa::reference {
namespace {

Status validateTensor(const char *name, const TensorView &tensor, DType type) {
  const std::string prefix = std::string("expected ") + name;
  if (tensor.sizes.size() != 4 || tensor.strides.size() != 4)
    return makeError(prefix + " as [batch, heads, sequence, depth] with 4 sizes and 4 strides, but got " +
                     std::to_string(tensor.sizes.size()) + " and " + std::to_string(tensor.strides.size()));
  bool empty = false;
  for (int64_t size : tensor.sizes) {
    if (size < 0)
      return makeError(prefix + " sizes of 0 or more, but got " + formatShape(tensor.sizes));
    empty |= size == 0;
  }
  if (!isFloat(tensor.type) || tensor.type != type)
    return makeError(prefix + " of one float type with query, but got " + std::string(nameOf(tensor.type)));
  if (!empty && !tensor.data)
    return makeError(prefix + " data, but got a null pointer");
  return Status::success();
}

Status expectEqual(const char *what, int64_t left, int64_t right) {
  if (left == right)
    return Status::success();
  return makeError(std::string("expected the same ") + what + ", but got " + std::to_string(left) + " and " +
                   std::to_string(right));
}

} // namespace

TensorView TensorView::dense(DType type, const void *data, std::vector<int64_t> sizes) {
  TensorView view{type, data, std::move(sizes), {}};
  view.strides.resize(view.sizes.size());
  int64_t stride = 1;
  for (size_t d = view.sizes.size(); d-- > 0;) {
    view.strides[d] = stride;
    stride *= view.sizes[d];
  }
  return view;
}

double TensorView::at(std::initializer_list<int64_t> index) const {
  int64_t offset = 0;
  size_t d = 0;
  for (int64_t i : index)
    offset += i * strides[d++];
  return loadAsDouble(type, static_cast<const char *>(data) + offset * static_cast<int64_t>(sizeOf(type)));
}

Status validate(const Problem &problem) {
  const DType type = problem.query.type;
  for (auto [name, tensor] :
       {std::pair("query", &problem.query), std::pair("key", &problem.key), std::pair("value", &problem.value)})
    if (Status status = validateTensor(name, *tensor, type); !status)
      return status;
  const auto &q = problem.query.sizes, &k = problem.key.sizes, &v = problem.value.sizes;
  for (Status status :
       {expectEqual("batch in query and key", q[0], k[0]), expectEqual("batch in key and value", k[0], v[0]),
        expectEqual("heads in key and value", k[1], v[1]), expectEqual("sequence in key and value", k[2], v[2]),
        expectEqual("depth in query and key", q[3], k[3])})
    if (!status)
      return status;
  if (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0)
    return makeError("expected query heads to be a multiple of key/value heads, but got " + std::to_string(q[1]) +
                     " and " + std::to_string(k[1]));
  return Status::success();
}

} // namespace fa::reference
