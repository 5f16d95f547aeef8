// Runs passes and pipelines on attention IR, like mlir-opt; every stage of every pipeline can be run alone.
#include "fa/Pipelines/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::fa::registerAllDialects(registry);
  mlir::fa::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "FA: attention kernel compiler\n", registry));
}
