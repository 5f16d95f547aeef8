// Attention kernels as blocked vector code for CPUs. Reference: docs/Passes/FAToVector.md.
#pragma once
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#include "fa/Conversion/FAToVector/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/FAToVector/Passes.h.inc"
} // namespace mlir::fa
