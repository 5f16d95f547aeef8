// Descriptor + bindings -> grid, block, shared memory and parameter bytes.
#include "fa/Runtime/PtxLaunch.h"
#include "fa/Support/Text.h"
#include <algorithm>
#include <cstring>

namespace fa::runtime {
namespace {

using Kind = KernelArgument::Kind;

std::vector<uint8_t> bytesOf(int64_t value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// cuda.h's CUtensorMapDataType.
int tensorMapType(DType type) {
  switch (type) {
  case DType::F64:
    return 8;
  case DType::F32:
    return 7;
  case DType::F16:
    return 6;
  case DType::BF16:
    return 9;
  case DType::I64:
    return 5;
  case DType::I32:
    return 3;
  case DType::I16:
    return 1;
  default:
    return 0;
  }
}

class Preparation {
public:
  Preparation(const LaunchDescriptor &descriptor, const Bindings &bindings, int64_t multiprocessors)
      : descriptor(descriptor), bindings(bindings) {
    symbols = [known = symbolsOf(descriptor, bindings), multiprocessors](const std::string &name) {
      const std::optional<int64_t> value = known(name);
      return value || name != "multiprocessors" ? value : std::optional(multiprocessors);
    };
  }

  Status sizes(PtxLaunch &launch) {
    for (unsigned i = 0; i < 3; ++i) {
      Status status = size("grid size", descriptor.grid[i], i == 0 ? 0x7fffffff : 65535, launch.grid[i]);
      if (!status)
        return status;
      launch.block[i] = static_cast<uint32_t>(descriptor.block[i]);
      launch.cluster[i] = static_cast<uint32_t>(descriptor.cluster[i]);
    }
    if (Status status = size("shared memory size", descriptor.sharedBytes, 1 << 30, launch.sharedBytes); !status)
      return status;
    return size("scratch size", descriptor.scratchBytes, int64_t(1) << 50, launch.scratchBytes);
  }

  Expected<PtxArgument> argument(size_t index) {
    const KernelArgument &argument = descriptor.arguments[index];
    where = "kernel '" + descriptor.entry + "', argument " + std::to_string(index);
    PtxArgument result;
    result.where = where;
    switch (argument.kind) {
    case Kind::Scratch:
      result.isScratch = true;
      result.bytes = bytesOf(0);
      return result;
    case Kind::Scalar:
      return scalar(argument, result);
    case Kind::MemRef:
      return error("expected an argument of abi ptx, but got a memref");
    default:
      break;
    }
    const auto found = bindings.tensors.find(argument.tensor);
    if (found == bindings.tensors.end())
      return error("expected a tensor '" + argument.tensor + "', but it was not given");
    const Tensor &tensor = found->second;
    if (argument.kind == Kind::TensorMap)
      return tensorMap(argument, tensor, result);
    int64_t value = static_cast<int64_t>(tensor.address());
    if (argument.kind != Kind::Pointer) {
      if (argument.dim < 0 || static_cast<size_t>(argument.dim) >= tensor.sizes.size())
        return error("expected dimension " + std::to_string(argument.dim) + " of '" + argument.tensor +
                     "', but it has " + std::to_string(tensor.sizes.size()));
      value = (argument.kind == Kind::Dim ? tensor.sizes : tensor.strides)[static_cast<size_t>(argument.dim)];
    }
    result.bytes = bytesOf(value);
    return result;
  }

private:
  const LaunchDescriptor &descriptor;
  const Bindings &bindings;
  SymbolTable symbols;
  std::string where;

  Error error(const std::string &message) const { return makeError(where + ": " + message); }

  template <typename T> Status size(const char *what, const std::string &text, int64_t limit, T &result) {
    const Expected<int64_t> value = evaluateExpression(text, symbols);
    if (!value)
      return makeError("kernel '" + descriptor.entry + "', " + what + ": " + value.message());
    if (*value < 0 || *value > limit)
      return makeError("kernel '" + descriptor.entry + "': expected a " + what + " in 0.." + std::to_string(limit) +
                       ", but got " + std::to_string(*value) + " from `" + text + "`");
    result = static_cast<T>(*value);
    return Status::success();
  }

  Expected<PtxArgument> scalar(const KernelArgument &argument, PtxArgument result) {
    result.bytes.assign(sizeOf(argument.type), 0);
    double value;
    if (!argument.expression.empty()) {
      const Expected<int64_t> integer = evaluateExpression(argument.expression, symbols);
      if (!integer)
        return error(integer.message());
      if (argument.type == DType::I64) {
        result.bytes = bytesOf(*integer);
        return result;
      }
      value = static_cast<double>(*integer);
    } else {
      const auto found = bindings.scalars.find(argument.scalar);
      if (found == bindings.scalars.end())
        return error("expected a scalar '" + argument.scalar + "', but it was not given");
      value = found->second;
    }
    storeFromDouble(argument.type, result.bytes.data(), value);
    if (!isFloat(argument.type) && loadAsDouble(argument.type, result.bytes.data()) != value)
      return error("expected '" + (argument.scalar.empty() ? argument.expression : argument.scalar) + "' to be an " +
                   std::string(nameOf(argument.type)) + ", but got " + formatNumber(value, 17));
    return result;
  }

  Expected<PtxArgument> tensorMap(const KernelArgument &argument, const Tensor &tensor, PtxArgument result) {
    result.where = where += " (tensor map of '" + argument.tensor + "')";
    const size_t rank = argument.box.size(), tensorRank = tensor.sizes.size();
    std::vector<int> order = argument.order;
    if (order.empty())
      for (size_t i = 0; i < tensorRank; ++i)
        order.push_back(static_cast<int>(tensorRank - 1 - i));
    if (rank == 0 || rank > 5 || order.size() != rank)
      return error("expected a box of as many dimensions (1..5) as its order, but got " + std::to_string(rank) +
                   " and " + std::to_string(order.size()));
    TensorMapSpec spec;
    spec.type = tensorMapType(tensor.type);
    spec.rank = static_cast<uint32_t>(rank);
    spec.base = tensor.address();
    spec.swizzle = argument.swizzle == 128 ? 3 : argument.swizzle == 64 ? 2 : argument.swizzle == 32 ? 1 : 0;
    if (argument.swizzle != 0 && spec.swizzle == 0)
      return error("expected swizzle 0, 32, 64 or 128, but got " + std::to_string(argument.swizzle));
    for (size_t i = 0; i < rank; ++i) {
      if (order[i] < 0 || static_cast<size_t>(order[i]) >= tensorRank)
        return error("expected dimension " + std::to_string(order[i]) + ", but the tensor has " +
                     std::to_string(tensorRank));
      if (Status status = dimension(argument, tensor, i, static_cast<size_t>(order[i]), spec); !status)
        return status.error();
    }
    if (spec.base % 16)
      return error("expected an address that is a multiple of 16 bytes, but its offset of " +
                   std::to_string(tensor.offset) + " elements gives a remainder of " + std::to_string(spec.base % 16) +
                   "; copy the slice to an aligned buffer");
    result.tensorMap = spec;
    return result;
  }

  Status dimension(const KernelArgument &argument, const Tensor &tensor, size_t i, size_t dim, TensorMapSpec &spec) {
    const int64_t size = std::max<int64_t>(tensor.sizes[dim], 1);
    const int64_t bytes = tensor.strides[dim] * static_cast<int64_t>(sizeOf(tensor.type));
    spec.sizes[i] = static_cast<uint64_t>(size);
    spec.box[i] = static_cast<uint32_t>(argument.box[i]);
    if (i == 0) {
      if (tensor.strides[dim] != 1 && size > 1)
        return error("expected stride 1 in dimension " + std::to_string(dim) + " of '" + argument.tensor +
                     "', but got " + std::to_string(tensor.strides[dim]) + "; make that dimension contiguous");
      return Status::success();
    }
    if (size > 1 && (bytes < 0 || bytes % 16))
      return error("expected the stride of dimension " + std::to_string(dim) + " of '" + argument.tensor +
                   "' to be a multiple of 16 bytes, but got " + std::to_string(bytes) + "; pad or copy the tensor");
    // Nothing steps along a dimension of size 1.
    spec.strides[i - 1] = size > 1 ? static_cast<uint64_t>(bytes) : 16;
    return Status::success();
  }
};

} // namespace

Expected<PtxLaunch> preparePtxLaunch(const LaunchDescriptor &descriptor, const Bindings &given,
                                     int64_t multiprocessors) {
  if (descriptor.abi != "ptx")
    return makeError("kernel '" + descriptor.entry + "': expected abi \"ptx\" for a GPU or the emulator, but got \"" +
                     descriptor.abi + "\"");
  const Expected<Bindings> whole = bindViews(descriptor, given);
  if (!whole)
    return whole.error();
  const Bindings &bindings = *whole;
  if (Status status = checkGuards(descriptor, bindings); !status)
    return status.error();
  PtxLaunch launch;
  Preparation preparation(descriptor, bindings, multiprocessors);
  if (Status status = preparation.sizes(launch); !status)
    return status.error();
  for (size_t i = 0; i < descriptor.arguments.size(); ++i) {
    Expected<PtxArgument> argument = preparation.argument(i);
    if (!argument)
      return argument.error();
    launch.arguments.push_back(std::move(*argument));
  }
  return launch;
}

} // namespace fa::runtime
