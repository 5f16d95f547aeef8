// Registration of dialects, interfaces, passes and pipelines for tools.
#include "fa/Pipelines/Register.h"
#include "fa/Conversion/FAToVector/FAToVector.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/FABufferization.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Hopper/IR/Hopper.h"
#include "fa/Dialect/Hopper/Transforms/Passes.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/Common.h"
#include "fa/Pipelines/Hopper.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void fa::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<FADialect, hopper::HopperDialect>();
  registerBufferizationInterfaces(registry);
}

void fa::registerAllPasses() {
  mlir::registerAllPasses();
  registerFATransformsPasses();
  hopper::registerHopperTransformsPasses();
  registerFAConversionPasses();
  registerFAToVectorPasses();
  registerCommonPipelines();
  registerHopperPipelines();
  registerCpuPipelines();
}
