// Validation of the C interface's tensors and options.
#include "Request.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace fa::capi {
namespace {

using execution::Corner;
using execution::Layout;

Expected<DType> toDType(const std::string &name, int32_t code) {
  static constexpr DType types[] = {DType::F64, DType::F32, DType::F16, DType::BF16};
  if (code < 0 || code > FA_BF16)
    return makeError("expected a dtype of " + name + " from FA_F64 (0) to FA_BF16 (3), but got " +
                     std::to_string(code));
  return types[code];
}

/// Row-major, as a kernel with a fixed layout expects it. Strides of dims of size 1 do not matter.
bool isContiguous(const runtime::Tensor &tensor) {
  int64_t stride = 1;
  for (size_t d = tensor.sizes.size(); d-- > 0; stride *= std::max<int64_t>(tensor.sizes[d], 1))
    if (tensor.sizes[d] > 1 && tensor.strides[d] != stride)
      return false;
  return true;
}

std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(sizes[d], 1);
  return strides;
}

/// Whether all elements lie apart, for dims nested by stride; exotic interleavings are refused too.
bool elementsLieApart(const runtime::Tensor &tensor) {
  if (std::find(tensor.sizes.begin(), tensor.sizes.end(), 0) != tensor.sizes.end())
    return true;
  std::vector<size_t> dims(tensor.sizes.size());
  std::iota(dims.begin(), dims.end(), size_t{0});
  std::sort(dims.begin(), dims.end(),
            [&](size_t a, size_t b) { return std::abs(tensor.strides[a]) < std::abs(tensor.strides[b]); });
  __int128 reach = 1;
  for (size_t d : dims) {
    if (tensor.sizes[d] <= 1)
      continue;
    if (std::abs(tensor.strides[d]) < reach)
      return false;
    reach = static_cast<__int128>(std::abs(tensor.strides[d])) * tensor.sizes[d];
  }
  return true;
}

constexpr int64_t sizeLimit = int64_t{1} << 40;

Expected<runtime::Tensor> readTensor(const std::string &name, const fa_tensor *tensor, size_t rank) {
  if (!tensor)
    return makeError("expected a tensor " + name + ", but got a null pointer");
  const Expected<DType> type = toDType(name, tensor->dtype);
  if (!type)
    return type.error();
  if (rank != 0 && tensor->rank != static_cast<int32_t>(rank))
    return makeError("expected " + name + " of rank " + std::to_string(rank) + ", but got rank " +
                     std::to_string(tensor->rank));
  if (tensor->rank < 1 || tensor->rank > 4)
    return makeError("expected " + name + " of rank 1 to 4, but got rank " + std::to_string(tensor->rank));
  if (!tensor->sizes)
    return makeError("expected sizes of " + name + ", but got a null pointer");
  runtime::Tensor result;
  result.type = *type;
  result.sizes.assign(tensor->sizes, tensor->sizes + tensor->rank);
  __int128 elements = 1;
  for (int64_t size : result.sizes) {
    if (size < 0 || size >= sizeLimit)
      return makeError("expected sizes of " + name + " from 0 to 2^40, but got " + formatShape(result.sizes));
    elements *= size;
    if (elements > INT64_MAX / 16)
      return makeError("expected a " + name + " that fits in memory, but got shape " + formatShape(result.sizes));
  }
  result.strides = tensor->strides ? std::vector<int64_t>(tensor->strides, tensor->strides + tensor->rank)
                                   : contiguousStrides(result.sizes);
  for (int64_t stride : result.strides)
    if (std::abs(stride) >= int64_t{1} << 50)
      return makeError("expected strides of " + name + " below 2^50, but got " + std::to_string(stride));
  if (elements && !tensor->data)
    return makeError("expected data of " + name + ", but got a null pointer");
  result.base = static_cast<runtime::DeviceAddress>(reinterpret_cast<uintptr_t>(tensor->data));
  if (result.base % sizeOf(*type) != 0)
    return makeError("expected data of " + name + " aligned to " + std::to_string(sizeOf(*type)) +
                     " bytes, but got an odd address");
  return result;
}

Status expectShape(const std::string &name, const runtime::Tensor &tensor, const std::vector<int64_t> &sizes) {
  if (tensor.sizes == sizes)
    return Status::success();
  return makeError("expected " + name + " of shape " + formatShape(sizes) + ", but got " + formatShape(tensor.sizes));
}

Status expectType(const std::string &name, const runtime::Tensor &tensor, DType type) {
  if (tensor.type == type)
    return Status::success();
  return makeError("expected " + name + " of dtype " + std::string(nameOf(type)) + ", but got " +
                   std::string(nameOf(tensor.type)));
}

Expected<std::optional<Corner>> toCorner(const std::string &option, int32_t code) {
  switch (code) {
  case FA_CORNER_NONE:
    return std::optional<Corner>();
  case FA_CORNER_TOP_LEFT:
    return std::optional(Corner::TopLeft);
  case FA_CORNER_BOTTOM_RIGHT:
    return std::optional(Corner::BottomRight);
  default:
    return makeError("expected option " + option +
                     " to be FA_CORNER_NONE (0), FA_CORNER_TOP_LEFT (1) or "
                     "FA_CORNER_BOTTOM_RIGHT (2), but got " +
                     std::to_string(code));
  }
}

/// Builds one request step by step; each step may fail.
class Builder {
public:
  explicit Builder(OutputTypes outputTypes) : outputTypes(outputTypes) {}
  Request request;

  Status addInputs(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v) {
    for (auto [name, tensor] : {std::pair("q", q), std::pair("k", k), std::pair("v", v)}) {
      Expected<runtime::Tensor> read = readTensor(name, tensor, 4);
      if (!read)
        return read.error();
      request.bindings.tensors[name] = std::move(*read);
    }
    const runtime::Tensor &query = at("q"), &key = at("k"), &value = at("v");
    execution::AttentionSpec &spec = request.spec;
    spec.dtype = query.type;
    spec.batch = query.sizes[0];
    spec.heads = query.sizes[1];
    spec.seqQ = query.sizes[2];
    spec.depth = query.sizes[3];
    spec.kvHeads = key.sizes[1];
    spec.seqKv = key.sizes[2];
    spec.depthV = value.sizes[3];
    if (spec.depth < 1 || spec.depthV < 1)
      return makeError("expected depths of 1 or more, but got " + std::to_string(spec.depth) + " and " +
                       std::to_string(spec.depthV));
    for (Status status : {expectType("k", key, query.type), expectType("v", value, query.type),
                          expectShape("k", key, {spec.batch, spec.kvHeads, spec.seqKv, spec.depth}),
                          expectShape("v", value, {spec.batch, spec.kvHeads, spec.seqKv, spec.depthV})})
      if (!status)
        return status;
    if (spec.kvHeads == 0 ? spec.heads != 0 : spec.heads % spec.kvHeads != 0)
      return makeError("expected heads of q to be a multiple of heads of k, but got " + std::to_string(spec.heads) +
                       " and " + std::to_string(spec.kvHeads));
    return Status::success();
  }

  Status addOutputs(const fa_tensor *o, const fa_tensor *lse) {
    const execution::AttentionSpec &spec = request.spec;
    if (Status status = addOutput("o", o, {spec.batch, spec.heads, spec.seqQ, spec.depthV}, spec.dtype); !status)
      return status;
    request.spec.lse = lse != nullptr;
    if (!lse)
      return Status::success();
    return addOutput("lse", lse, {spec.batch, spec.heads, spec.seqQ},
                     spec.dtype == DType::F64 ? DType::F64 : DType::F32);
  }

  Status addOptions(const fa_attention_options &options) {
    request.options = options;
    execution::AttentionSpec &spec = request.spec;
    if (!std::isnan(options.scale)) {
      if (std::isinf(options.scale))
        return makeError("expected a finite scale (NaN: 1/sqrt(depth)), but got " + formatNumber(options.scale));
      spec.scale = options.scale;
    }
    if (options.softcap != 0) {
      if (!(options.softcap > 0) || std::isinf(options.softcap))
        return makeError("expected a softcap above 0, or 0 for none, but got " + formatNumber(options.softcap));
      spec.softcap = options.softcap;
    }
    for (Status status : {addMasks(options), addAlibi(options), addBias(options), checkSchedule(options)})
      if (!status)
        return status;
    return Status::success();
  }

  /// One kernel serves all lengths and, where the layouts are not the usual one, all strides.
  void chooseLayout() {
    request.spec.dynamicLengths = true;
    bool contiguous = true, rows = true;
    for (const auto &[name, tensor] : request.bindings.tensors) {
      contiguous &= isContiguous(tensor);
      rows &= tensor.sizes.size() != 4 || name == "bias" || tensor.sizes[3] <= 1 || tensor.strides[3] == 1;
    }
    request.spec.layout = contiguous ? Layout::Bhsd : rows ? Layout::Rows : Layout::Strided;
    for (auto &[name, tensor] : request.bindings.tensors) {
      if (contiguous)
        tensor.strides = contiguousStrides(tensor.sizes);
      else if (rows && tensor.sizes.size() == 4 && name != "bias")
        tensor.strides[3] = 1; // a depth of 1 may carry any stride
    }
  }

private:
  OutputTypes outputTypes;

  const runtime::Tensor &at(const std::string &name) const { return request.bindings.tensors.at(name); }

  Status addOutput(const char *name, const fa_tensor *tensor, const std::vector<int64_t> &sizes, DType type) {
    Expected<runtime::Tensor> read = readTensor(name, tensor, sizes.size());
    if (!read)
      return read.error();
    if (Status status = expectShape(name, *read, sizes); !status)
      return status;
    if (outputTypes == OutputTypes::OfKernel)
      if (Status status = expectType(name, *read, type); !status)
        return status;
    if (!elementsLieApart(*read))
      return makeError(std::string("expected strides of ") + name + " that keep its elements apart, but some overlap");
    request.bindings.tensors[name] = std::move(*read);
    return Status::success();
  }

  Status addMasks(const fa_attention_options &options) {
    const Expected<std::optional<Corner>> causal = toCorner("causal", options.causal);
    const Expected<std::optional<Corner>> corner = toCorner("window_corner", options.window_corner);
    for (const auto *value : {&causal, &corner})
      if (!*value)
        return value->error();
    request.spec.causal = *causal;
    if (!*corner)
      return Status::success();
    execution::Window window;
    window.corner = **corner;
    for (auto [name, from, to] : {std::tuple("window_left", options.window_left, &window.left),
                                  std::tuple("window_right", options.window_right, &window.right)}) {
      if (from < 0)
        return makeError(std::string("expected option ") + name + " to be a number of keys, or FA_UNLIMITED, but got " +
                         std::to_string(from));
      if (from != FA_UNLIMITED)
        *to = from;
    }
    request.spec.window = window;
    return Status::success();
  }

  Status addAlibi(const fa_attention_options &options) {
    const Expected<std::optional<Corner>> corner = toCorner("alibi", options.alibi);
    if (!corner)
      return corner.error();
    request.spec.alibi = *corner;
    if (!*corner)
      return options.alibi_slopes
                 ? Status(makeError("expected option alibi with a corner, because alibi_slopes is given, "
                                    "but got FA_CORNER_NONE"))
                 : Status::success();
    Expected<runtime::Tensor> slopes = readTensor("alibi_slopes", options.alibi_slopes, 1);
    if (!slopes)
      return slopes.error();
    for (Status status :
         {expectType("alibi_slopes", *slopes, DType::F32), expectShape("alibi_slopes", *slopes, {request.spec.heads})})
      if (!status)
        return status;
    if (!isContiguous(*slopes))
      return makeError("expected contiguous alibi_slopes, but got stride " + std::to_string(slopes->strides[0]));
    request.bindings.tensors["slopes"] = std::move(*slopes);
    return Status::success();
  }

  Status addBias(const fa_attention_options &options) {
    if (!options.bias)
      return Status::success();
    Expected<runtime::Tensor> bias = readTensor("bias", options.bias, 0);
    if (!bias)
      return bias.error();
    if (Status status = expectType("bias", *bias, request.spec.dtype); !status)
      return status;
    const execution::AttentionSpec &spec = request.spec;
    const int64_t full[] = {spec.batch, spec.heads, spec.seqQ, spec.seqKv};
    for (size_t d = 0; d < bias->sizes.size(); ++d) {
      const int64_t expected = full[d + 4 - bias->sizes.size()];
      if (bias->sizes[d] != 1 && bias->sizes[d] != expected)
        return makeError("expected size " + std::to_string(d) + " of bias to be 1 or " + std::to_string(expected) +
                         ", but got shape " + formatShape(bias->sizes));
    }
    request.spec.bias = bias->sizes;
    request.bindings.tensors["bias"] = std::move(*bias);
    return Status::success();
  }

  static Status checkSchedule(const fa_attention_options &options) {
    for (auto [name, value, last] : {std::tuple("form", options.form, int32_t{FA_FORM_NAIVE}),
                                     std::tuple("order", options.order, int32_t{FA_ORDER_KEY_OUTER})})
      if (value < 0 || value > last)
        return makeError(std::string("expected option ") + name + " to be 0 or 1, but got " + std::to_string(value));
    for (auto [name, value] : {std::pair("tile_q", options.tile_q), std::pair("tile_kv", options.tile_kv)})
      if (value < 0)
        return makeError(std::string("expected option ") + name +
                         " of 1 or more, or 0 for the machine model, but got " + std::to_string(value));
    if (options.threads > 4096)
      return makeError("expected option threads of at most 4096, but got " + std::to_string(options.threads));
    return Status::success();
  }
};

} // namespace

Expected<fa_attention_options> readOptions(const fa_attention_options *options) {
  fa_attention_options result;
  fa_attention_options_init(&result, sizeof result);
  if (!options)
    return result;
  constexpr size_t smallest = offsetof(fa_attention_options, scale);
  const size_t size = options->struct_size;
  if (size < smallest || size > 4096)
    return makeError("expected options with struct_size = sizeof(fa_attention_options), but got " +
                     std::to_string(size) + "; call fa_attention_options_init");
  // A newer caller may not ask for what this library does not know.
  const auto *bytes = reinterpret_cast<const unsigned char *>(options);
  for (size_t n = sizeof result; n < size; ++n)
    if (bytes[n] != 0)
      return makeError("expected options of version " + std::string(fa_version()) +
                       ", but got some of a newer one; update the library");
  std::memcpy(&result, options, std::min(size, sizeof result));
  result.struct_size = sizeof result;
  return result;
}

Expected<Request> makeRequest(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v, const fa_tensor *o,
                              const fa_tensor *lse, const fa_attention_options *options, OutputTypes outputTypes) {
  const Expected<fa_attention_options> read = readOptions(options);
  if (!read)
    return read.error();
  Builder builder(outputTypes);
  if (Status status = builder.addInputs(q, k, v); !status)
    return status.error();
  if (Status status = builder.addOutputs(o, lse); !status)
    return status.error();
  if (Status status = builder.addOptions(*read); !status)
    return status.error();
  builder.chooseLayout();
  return std::move(builder.request);
}

} // namespace fa::capi
