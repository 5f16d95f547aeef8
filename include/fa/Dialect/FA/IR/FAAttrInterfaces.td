// Attribute interfaces of the fa dialect: what a named mask and a schedule's target must offer.
#ifndef FA_DIALECT_FA_IR_FAATTRINTERFACES
#define FA_DIALECT_FA_IR_FAATTRINTERFACES

include "mlir/IR/OpBase.td"

def FA_MaskAttrInterface : AttrInterface<"MaskAttrInterface"> {
  let cppNamespace = "::mlir::fa";
  let description = [{
    A named mask. Kernels use `buildPredicate` (through `fa-expand-masks`), the reference uses `visible`; a unit test
    compares the two exhaustively. A new named mask is one attribute: no pass is edited.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the predicate `query i sees key j` as an i1. All operands are of type index; `seqQ` and `seqKv` are the
      lengths of the two sequences.
    }], "::mlir::Value", "buildPredicate",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$i, "::mlir::Value":$j,
         "::mlir::Value":$seqQ, "::mlir::Value":$seqKv)>,
    InterfaceMethod<"The same predicate on numbers.",
      "bool", "visible", (ins "int64_t":$i, "int64_t":$j, "int64_t":$seqQ, "int64_t":$seqKv)>,
  ];
}

def FA_TargetAttrInterface : AttrInterface<"TargetAttrInterface"> {
  let cppNamespace = "::mlir::fa";
  let description = "The target-specific part of a schedule.";
  let methods = [
    InterfaceMethod<"Name of the target as fa-compile spells it.", "::llvm::StringRef", "getTargetName", (ins)>,
  ];
}

#endif // FA_DIALECT_FA_IR_FAATTRINTERFACES
