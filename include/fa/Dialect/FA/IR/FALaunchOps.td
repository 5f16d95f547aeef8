// Launching an outlined kernel over a grid. Included by FAOps.td.
#ifndef FA_DIALECT_FA_IR_FALAUNCHOPS
#define FA_DIALECT_FA_IR_FALAUNCHOPS

def FA_LaunchOp : FA_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel function once per block of a grid";
  let description = [{
    Blocks may run in any order and at the same time. The kernel's first argument is the block number (index); the others
    are the arguments of the launch. `heavy_first` says that blocks with larger numbers do more work.

    Constraints:
    * (C1) the callee is a function marked `fa.kernel` whose arguments are the block number and those of the launch; one
      marked `fa.scratch_bytes` also takes a `memref<?xi8>` of that size last, which the runtime gives to each thread.

    ```mlir
    fa.launch @causal_kernel grid(%blocks) heavy_first args(%q, %o : memref<1x1x?x64xf32>, memref<1x1x?x64xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Index:$grid, Variadic<AnyType>:$args, UnitAttr:$heavy_first);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` (`heavy_first` $heavy_first^)? `args` `(` ($args^ `:` type($args))? `)` attr-dict
  }];
}

#endif // FA_DIALECT_FA_IR_FALAUNCHOPS
