// The state of an online softmax over one query tile.
#ifndef FA_DIALECT_FA_IR_FATYPES
#define FA_DIALECT_FA_IR_FATYPES

include "fa/Dialect/FA/IR/FADialect.td"
include "mlir/IR/AttrTypeBase.td"

def FA_StateType : TypeDef<FA_Dialect, "State"> {
  let mnemonic = "state";
  let summary = "accumulator, row reference and row sum of one query tile";
  let description = [{
    `!fa.state<tile_q x depth_v x type>` holds, for `tile_q` query rows,
    * acc[tile_q, depth_v]: the unnormalised output, sum_j e^(S_j - m) V_j;
    * m[tile_q]: the row reference, in units of the logits (after scale and score function). Not necessarily the maximum:
      a target may raise it lazily;
    * l[tile_q]: the row sum, sum_j e^(S_j - m).

    The type is opaque: a CPU keeps it in scratch memory, Hopper in register fragments. A state is used exactly once.

    ```mlir
    !fa.state<128x128xf32>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$depth, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // FA_DIALECT_FA_IR_FATYPES
