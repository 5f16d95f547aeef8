// Launch descriptors of hopper kernels.
#pragma once
#include "fa/Support/LaunchDescriptor.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::fa {

/// The descriptor (abi `ptx`) of `kernel`, a kernel with its shared memory assigned. `host` describes its launch as
/// describeLaunch (FA/Transforms) did before the conversion: it names tensors, scalars and the number of blocks.
/// Fails for a kernel whose arguments carry no `fa.source`.
FailureOr<::fa::LaunchDescriptor> describeHopperKernel(const ::fa::LaunchDescriptor &host, gpu::GPUFuncOp kernel);

} // namespace mlir::fa
