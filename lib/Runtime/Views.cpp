// Tensors that a launch derives from those it is given.
#include "fa/Runtime/Driver.h"
#include <algorithm>

namespace fa::runtime {
namespace {

/// Elements before and after element (0, ..., 0), both included; nothing for an empty tensor.
std::optional<std::pair<__int128, __int128>> reachOf(const Tensor &tensor) {
  __int128 low = 0, high = 0;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0)
      return std::nullopt;
    const __int128 reach = static_cast<__int128>(tensor.sizes[d] - 1) * tensor.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  return std::pair(low, high);
}

Expected<Tensor> derive(const DerivedTensor &view, const LaunchDescriptor &descriptor, const Bindings &bindings) {
  const std::string where = "kernel '" + descriptor.entry + "', view '" + view.name + "' of '" + view.of + "'";
  const auto source = bindings.tensors.find(view.of);
  if (source == bindings.tensors.end())
    return makeError(where + ": expected a tensor '" + view.of + "', but it was not given");
  const SymbolTable symbols = symbolsOf(descriptor, bindings);
  Tensor tensor = source->second;
  tensor.sizes.clear();
  tensor.strides.clear();
  for (const auto &[texts, values] : {std::pair(&view.sizes, &tensor.sizes), std::pair(&view.strides, &tensor.strides)})
    for (const std::string &text : *texts) {
      const Expected<int64_t> value = evaluateExpression(text, symbols);
      if (!value)
        return makeError(where + ": " + value.message());
      values->push_back(*value);
    }
  const Expected<int64_t> offset = evaluateExpression(view.offset, symbols);
  if (!offset)
    return makeError(where + ": " + offset.message());
  if (std::any_of(tensor.sizes.begin(), tensor.sizes.end(), [](int64_t size) { return size < 0; }))
    return makeError(where + ": expected sizes of 0 or more; check what the view is made from");
  const auto whole = reachOf(source->second), part = reachOf(tensor);
  if (part && (!whole || *offset + part->first < whole->first || *offset + part->second > whole->second))
    return makeError(where +
                     ": expected a view inside the tensor, but it reaches outside; check its offsets and sizes");
  tensor.offset += *offset;
  return tensor;
}
} // namespace

Expected<Bindings> bindViews(const LaunchDescriptor &descriptor, const Bindings &bindings) {
  Bindings result = bindings;
  for (const DerivedTensor &view : descriptor.views) {
    Expected<Tensor> tensor = derive(view, descriptor, result);
    if (!tensor)
      return tensor.error();
    result.tensors[view.name] = std::move(*tensor);
  }
  return result;
}

} // namespace fa::runtime
