// The hopper dialect: types, ops and the fragment predicates that they share.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::fa::hopper {
/// f32 accumulator of 64 rows and 2 N columns in one warpgroup, N elements per thread (N = 4, 8, .. 128).
bool isFragment(Type type);
/// The same rounded to 16 bits, two columns in each i32.
bool isPackedFragment(Type type);
/// bf16 and f16: what the tensor cores take here.
bool isSixteenBitFloat(Type type);
/// Named barriers (PTX ISA 9.7.13.1): 0 is the whole block, turns use 1 .. 3, a consumer warpgroup alone 8 ...
constexpr int64_t firstTurnBarrier = 1;
constexpr int64_t firstWarpgroupBarrier = 8;
constexpr int64_t threadsPerWarpgroup = 128;
/// Rows of one warpgroup's fragment.
constexpr int64_t fragmentRows = 64;
/// No tensor has this many rows or more: launch guards see to it, so that positions fit 32 bits (docs/Decisions/0300).
constexpr int64_t largestLength = int64_t(1) << 29;
/// Attribute of an index argument: a length, at least 0 and below `largestLength`.
constexpr llvm::StringLiteral lengthAttrName = "hopper.length";
/// Attribute of a gpu.func: bytes of dynamic shared memory, set by hopper-allocate-shared.
constexpr llvm::StringLiteral sharedBytesAttrName = "hopper.shared_bytes";
/// Attribute of a gpu.func: asks hopper-ping-pong for turns.
constexpr llvm::StringLiteral pingPongAttrName = "hopper.ping_pong";
} // namespace mlir::fa::hopper

#include "fa/Dialect/Hopper/IR/HopperDialect.h.inc"
#include "fa/Dialect/Hopper/IR/HopperEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/Hopper/IR/HopperTypes.h.inc"
#define GET_OP_CLASSES
#include "fa/Dialect/Hopper/IR/HopperOps.h.inc"
