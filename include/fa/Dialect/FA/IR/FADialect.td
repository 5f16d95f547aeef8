// The `fa` dialect: attention from its definition (L0) to tiles with an online softmax (L1 to L3).
#ifndef FA_DIALECT_FA_IR_FADIALECT
#define FA_DIALECT_FA_IR_FADIALECT

include "mlir/IR/OpBase.td"

def FA_Dialect : Dialect {
  let name = "fa";
  let cppNamespace = "::mlir::fa";
  let summary = "Attention with any mask and any score function";
  let description = [{
    `fa.attention` says what is computed; `fa.init`, `fa.step` and `fa.finish` say how, tile by tile:

    ```
    S = scale Q K^T;  S = score(S, b, h, i, j);  S = mask(b, h, i, j) ? S : -inf;  O = softmax(S) V;  LSE = ln sum e^S
    ```

    Conventions, the same at every level:
    * Dims are always [batch, heads, sequence, depth]; a layout lives in the strides of a memref.
    * Order of operations: dot, scale, score function, mask, softmax, PV.
    * A logit of -inf hides its pair as a mask does. A row that sees no key gives O = 0 and LSE = -inf.
    * LSE is the natural logarithm. Window bounds are inclusive, `none` is unlimited. The causal corner is always written.
    * kv head = query head floordiv (heads_q / heads_kv).
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // FA_DIALECT_FA_IR_FADIALECT
