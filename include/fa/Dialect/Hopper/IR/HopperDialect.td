// The hopper dialect and its types: what a warp-specialised sm_90a kernel needs and upstream lacks.
#ifndef FA_DIALECT_HOPPER_IR_HOPPERDIALECT_TD
#define FA_DIALECT_HOPPER_IR_HOPPERDIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Hopper_Dialect : Dialect {
  let name = "hopper";
  let cppNamespace = "::mlir::fa::hopper";
  let summary = "Warp-specialised kernels for sm_90a";
  let description = [{
    A block of threads is one producer warpgroup and some consumer warpgroups of 128 threads. The producer fills rings of
    shared-memory stages by TMA; each consumer owns 64 rows of the result, kept in registers as *fragments*.

    A fragment is a plain `vector<Nxf32>` per thread, in the accumulator layout of wgmma (PTX ISA 9.7.15.5): element `v`
    of thread `t` of a warpgroup is row `16 (t / 32) + (t % 32) / 4 + 8 ((v / 2) % 2)`, column
    `8 (v / 4) + 2 (t % 4) + v % 2` of a tile of 64 rows and `2 N` columns. A thread therefore holds two rows. Elementwise
    arithmetic on fragments is upstream arithmetic on vectors. The *packed* form `vector<(N/2)xi32>` holds two neighbouring
    columns, rounded to 16 bits, in each i32; it is the A operand of the next product.

    `index` is 32 bits wide in a kernel.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Hopper_Type<string name, string typeMnemonic> : TypeDef<Hopper_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Hopper_TileType : Hopper_Type<"Tile", "tile"> {
  let summary = "a tile in shared memory, as panels of 128-byte rows with 128-byte swizzle";
  let description = [{
    `tile<RxCxT>`: R rows and C columns. Columns are cut into panels of 128 bytes (64 16-bit elements); a panel is stored
    row by row, its 16-byte chunks permuted by the 128-byte swizzle that TMA writes and wgmma reads. The last panel may be
    partly used; its tail is allocated and zero.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one row of a panel, and columns in it.
    static constexpr int64_t panelRowBytes = 128;
    int64_t getPanelColumns() const { return panelRowBytes * 8 / getElementType().getIntOrFloatBitWidth(); }
    int64_t getPanels() const { return (getColumns() + getPanelColumns() - 1) / getPanelColumns(); }
    int64_t getPanelBytes() const { return getRows() * panelRowBytes; }
    int64_t getBytes() const { return getPanels() * getPanelBytes(); }
  }];
}

def Hopper_RingType : Hopper_Type<"Ring", "ring"> {
  let summary = "a ring of shared-memory stages, each holding the same list of tiles";
  let description = [{
    `ring<2 x [RxCxT, ...]>`. A stage has one barrier that says *full* and one that says *empty*; the tiles of a stage are
    filled together.
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"TileType">:$tiles);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one stage: what one phase of its full barrier waits for.
    int64_t getStageBytes() const;
  }];
}

def Hopper_BarrierType : Hopper_Type<"Barrier", "barrier"> {
  let summary = "an mbarrier in shared memory (PTX ISA 9.7.13.15)";
}

def Hopper_TensorMapType : Hopper_Type<"TensorMap", "tensor_map"> {
  let summary = "a TMA descriptor whose box is one panel: rows x 128 bytes";
  let description = [{
    `tensor_map<RxCxT>` addresses a tensor [batch, heads, sequence, depth]; its box is 1 x 1 x R x C. A kernel argument
    (128 bytes in parameter space).
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Hopper_PendingType : Hopper_Type<"Pending", "pending"> {
  let summary = "an accumulator that a wgmma in flight still writes";
  let description = [{
    Only hopper.wait_gemms turns it into a value, so nothing can touch an accumulator early (PTX ISA 9.7.15.7).
  }];
  let parameters = (ins "VectorType":$fragment);
  let assemblyFormat = "`<` $fragment `>`";
  let genVerifyDecl = 1;
}

def Hopper_ReductionAttr : I32EnumAttr<"Reduction", "how the values of a row are combined",
    [I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Sum", 1, "sum">]> {
  let cppNamespace = "::mlir::fa::hopper";
}
#endif
