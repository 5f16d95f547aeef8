// Attributes of the fa dialect: named masks behind one interface, and schedules.
#ifndef FA_DIALECT_FA_IR_FAATTRS
#define FA_DIALECT_FA_IR_FAATTRS

include "fa/Dialect/FA/IR/FADialect.td"
include "fa/Dialect/FA/IR/FAAttrInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Named masks
//===----------------------------------------------------------------------===//

def FA_Corner : I32EnumAttr<"Corner", "corner in which the diagonal of a mask starts or ends", [
    I32EnumAttrCase<"TopLeft", 0, "top_left">,
    I32EnumAttrCase<"BottomRight", 1, "bottom_right">]> {
  let cppNamespace = "::mlir::fa";
  let genSpecializedAttr = 0;
}

class FA_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<FA_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def FA_CausalAttr : FA_Attr<"Causal", "causal", [DeclareAttrInterfaceMethods<FA_MaskAttrInterface>]> {
  let summary = "a query sees no key after its own position";
  let description = [{
    `top_left`: j <= i. `bottom_right`: j <= i + (Sk - Sq), so that the last query sees every key.

    ```mlir
    #fa.causal<bottom_right>
    ```
  }];
  let parameters = (ins EnumParameter<FA_Corner>:$corner);
  let assemblyFormat = "`<` $corner `>`";
}

def FA_WindowAttr : FA_Attr<"Window", "window", [DeclareAttrInterfaceMethods<FA_MaskAttrInterface>]> {
  let summary = "a query sees `left` keys before and `right` keys after its own position";
  let description = [{
    p - left <= j <= p + right, both bounds inclusive, with p = i (`top_left`) or p = i + (Sk - Sq) (`bottom_right`).
    `none` is unlimited; a negative bound is refused.

    ```mlir
    #fa.window<left = 1023, right = none, bottom_right>
    ```
  }];
  let parameters = (ins "std::optional<int64_t>":$left, "std::optional<int64_t>":$right, EnumParameter<FA_Corner>:$corner);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def FA_MaskArrayAttr : TypedArrayAttrBase<FA_MaskAttrInterface, "named masks">;

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def FA_LoopOrder : I32EnumAttr<"LoopOrder", "which tiles the outer loop walks", [
    I32EnumAttrCase<"QueryOuter", 0, "query_outer">,
    I32EnumAttrCase<"KeyOuter", 1, "key_outer">]> {
  let cppNamespace = "::mlir::fa";
  let genSpecializedAttr = 0;
}

def FA_Lanes : I32EnumAttr<"Lanes", "what lies on the lanes of a vector", [
    I32EnumAttrCase<"Query", 0, "query">,
    I32EnumAttrCase<"Depth", 1, "depth">]> {
  let cppNamespace = "::mlir::fa";
  let genSpecializedAttr = 0;
}

def FA_CPUAttr : FA_Attr<"CPU", "cpu", [DeclareAttrInterfaceMethods<FA_TargetAttrInterface>]> {
  let summary = "CPU part of a schedule";
  let description = [{
    `vector_bits` is the width of a vector register. `lanes` says what vector code puts on the lanes of a vector: queries,
    for tiles of many rows, or columns of keys and values, for tiles of at most 16 rows (decoding). Which lowering runs
    (plain loops or vector code) is the choice of the pipeline, not of the schedule.

    ```mlir
    #fa.cpu<vector_bits = 512, lanes = depth>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "128">:$vector_bits,
    DefaultValuedParameter<"::mlir::fa::Lanes", "::mlir::fa::Lanes::Query">:$lanes);
  let extraClassDeclaration = [{
    /// Rows of a query tile with depth on lanes.
    static constexpr int64_t maxRowsOfDepthLanes = 16;
  }];
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
}

def FA_HopperAttr : FA_Attr<"Hopper", "hopper", [DeclareAttrInterfaceMethods<FA_TargetAttrInterface>]> {
  let summary = "Hopper (sm_90a) part of a schedule";
  let description = [{
    `stages`: buffers of the key/value ring. `warpgroups`: consumer warpgroups of 64 query rows each.
    `overlap`: softmax of one tile under the product of the tile before it with the values; needs two stages. `ping_pong`:
    consumers take turns on the tensor cores. `persistent`: one block per multiprocessor walks the tiles.
    `scheduling_fence`: with overlap, ptxas may not move exponentials out from under the product. `unroll`: 1, or 2 key
    tiles in each iteration of loops without a mask, with two buffers of probabilities, so that rounding them to 16 bits runs
    under the product as well; needs overlap. `heavy_first`: where later query tiles do more work, as under a causal mask,
    they go first.

    ```mlir
    #fa.hopper<stages = 2, warpgroups = 2, overlap = true, ping_pong = true, persistent = false, scheduling_fence = true, unroll = 1, heavy_first = true>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "2">:$stages,
    DefaultValuedParameter<"int64_t", "2">:$warpgroups,
    DefaultValuedParameter<"bool", "true">:$overlap,
    DefaultValuedParameter<"bool", "true">:$ping_pong,
    DefaultValuedParameter<"bool", "false">:$persistent,
    DefaultValuedParameter<"bool", "true">:$scheduling_fence,
    DefaultValuedParameter<"int64_t", "1">:$unroll,
    DefaultValuedParameter<"bool", "true">:$heavy_first);
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
  let genVerifyDecl = 1;
}

def FA_ScheduleAttr : FA_Attr<"Schedule", "schedule"> {
  let summary = "how an attention is tiled and mapped to a target";
  let description = [{
    The only place from which tile sizes come. What follows from it is derived, never stored. `split_kv`: the keys are cut
    into that many parts, each a block of its own, whose results `fa.combine` joins (Flash-Decoding; CPUs, order
    query_outer).

    ```mlir
    #fa.schedule<tile_q = 128, tile_kv = 128, order = query_outer, target = #fa.cpu<vector_bits = 512>>
    ```
  }];
  let parameters = (ins
    "int64_t":$tile_q,
    "int64_t":$tile_kv,
    DefaultValuedParameter<"::mlir::fa::LoopOrder", "::mlir::fa::LoopOrder::QueryOuter">:$order,
    DefaultValuedParameter<"int64_t", "1">:$split_kv,
    OptionalParameter<"::mlir::fa::TargetAttrInterface">:$target);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // FA_DIALECT_FA_IR_FAATTRS
