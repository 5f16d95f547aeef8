// Launch descriptors of hopper kernels: what the conversion noted on each argument, said with the host's names.
#include "fa/Pipelines/DescribeHopper.h"
#include "fa/Conversion/FAToHopper/KernelArguments.h"
#include "fa/Dialect/Hopper/IR/Hopper.h"

using namespace mlir;
using namespace mlir::fa;
using ::fa::DType;
using ::fa::KernelArgument;
using ::fa::LaunchDescriptor;

namespace {
class Describer {
public:
  Describer(const LaunchDescriptor &host, gpu::GPUFuncOp kernel) : host(host), kernel(kernel), result(host) {}

  FailureOr<LaunchDescriptor> describe() {
    result.entry = kernel.getName().str();
    result.abi = "ptx";
    result.arguments.clear();
    // The kernel itself reverses its blocks.
    result.order = "linear";
    DenseI32ArrayAttr block = kernel.getKnownBlockSizeAttr();
    if (!block)
      return kernel.emitError("expected a kernel with a known block size; run convert-fa-to-hopper");
    for (int i = 0; i < 3; ++i)
      result.block[i] = block[i];
    if (kernel->hasAttr(persistentAttrName))
      result.grid[0] = "min(" + host.grid[0] + ", multiprocessors)";
    auto bytes = kernel->getAttrOfType<IntegerAttr>(hopper::sharedBytesAttrName);
    if (!bytes)
      return kernel.emitError("expected a kernel with shared memory assigned; run hopper-allocate-shared");
    result.sharedBytes = std::to_string(bytes.getInt());
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (failed(describeArgument(i)))
        return failure();
    return result;
  }

private:
  LogicalResult describeArgument(unsigned index) {
    auto source = kernel.getArgAttrOfType<StringAttr>(index, argumentSourceAttrName);
    SmallVector<StringRef> words;
    if (source)
      source.getValue().split(words, ' ');
    unsigned number = 0, dim = 0;
    bool isNumbered = words.size() > 1 && !words[1].getAsInteger(10, number) && number < host.arguments.size();
    if (words.size() > 2 && words[2].getAsInteger(10, dim))
      isNumbered = false;
    StringRef kind = words.empty() ? StringRef() : words[0];
    Type type = kernel.getArgument(index).getType();
    if (kind == "blocks") {
      addExpression(host.grid[0]);
      return success();
    }
    bool isKnown = kind == "tensor_map" || kind == "memref" || kind == "dim" || kind == "scalar";
    if (!isNumbered || !isKnown)
      return kernel.emitError("expected argument ")
             << index << " to say where it comes from ('" << argumentSourceAttrName << "')";
    const KernelArgument &from = host.arguments[number];
    if (kind == "tensor_map") {
      addTensorMap(from.tensor, cast<hopper::TensorMapType>(type));
    } else if (kind == "memref") {
      addMemRef(from.tensor, cast<MemRefType>(type));
    } else if (kind == "dim") {
      std::string expression = from.tensor + ".dim" + std::to_string(dim);
      addExpression(expression);
      result.guards.push_back({expression + " < " + std::to_string(hopper::largestLength), "split the tensor"});
    } else {
      KernelArgument scalar = from;
      scalar.type = type.isIndex() ? DType::I32 : from.type;
      result.arguments.push_back(scalar);
    }
    return success();
  }

  void addExpression(const std::string &expression) {
    KernelArgument argument;
    argument.kind = KernelArgument::Kind::Scalar;
    argument.type = DType::I32;
    argument.expression = expression;
    result.arguments.push_back(argument);
  }

  void addTensorMap(const std::string &tensor, hopper::TensorMapType type) {
    KernelArgument argument;
    argument.kind = KernelArgument::Kind::TensorMap;
    argument.tensor = tensor;
    argument.box = {type.getColumns(), type.getRows(), 1, 1};
    argument.swizzle = 128;
    result.arguments.push_back(argument);
  }

  /// In the order in which convert-hopper-to-nvvm takes them: the pointer, then each stride the type leaves open.
  void addMemRef(const std::string &tensor, MemRefType type) {
    KernelArgument argument;
    argument.kind = KernelArgument::Kind::Pointer;
    argument.tensor = tensor;
    result.arguments.push_back(argument);
    auto [strides, offset] = type.getStridesAndOffset();
    argument.kind = KernelArgument::Kind::Stride;
    for (auto [dim, stride] : llvm::enumerate(strides))
      if (ShapedType::isDynamic(stride)) {
        argument.dim = static_cast<int>(dim);
        result.arguments.push_back(argument);
      }
  }

  const LaunchDescriptor &host;
  gpu::GPUFuncOp kernel;
  LaunchDescriptor result;
};
} // namespace

FailureOr<LaunchDescriptor> mlir::fa::describeHopperKernel(const LaunchDescriptor &host, gpu::GPUFuncOp kernel) {
  return Describer(host, kernel).describe();
}
