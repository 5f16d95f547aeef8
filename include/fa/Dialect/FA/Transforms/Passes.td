// Passes on the fa dialect, in the order in which they run.
#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES
#define FA_DIALECT_FA_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMasksPass : Pass<"fa-expand-masks"> {
  let summary = "make named masks part of the mask region";
  let description = [{
    Requires: nothing. Guarantees: no `fa.attention` has a `masks` clause; the mask region yields the AND of what it
    yielded before and of the predicates of the named masks. Leaves alone: attention without named masks.

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...) masks [#fa.causal<top_left>]
    ```
    becomes
    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
      mask (%b: index, %h: index, %i: index, %j: index) {
        %keep = arith.cmpi sle, %j, %i : index
        fa.yield %keep : i1
      }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"];
}

def FoldQueryGroupsPass : Pass<"fa-fold-query-groups"> {
  let summary = "make query heads that share keys rows of one query tile";
  let description = [{
    For decoding with grouped heads: few queries against many keys read each key once for the whole group instead of once for
    each query head.

    Requires: memrefs, no named masks (`fa-expand-masks`). Guarantees: an attention of Sq <= 16 queries with Hq = G Hkv, G > 1, all
    static, works on views of query and outputs with Hkv heads of G Sq queries; regions see the head and the query of the
    original. Leaves alone: attention with more queries, sizes that are not static, and tensors in which query heads and
    queries have no common stride (several queries in layout BSHD).

    ```mlir
    fa.attention ins(%q, %k, %v : memref<1x32x1x128xf32>, memref<1x8x8192x128xf32>, memref<1x8x8192x128xf32>) ...
    ```
    becomes
    ```mlir
    %e = memref.expand_shape %q [[0], [1, 2], [3], [4]] ... : memref<1x32x1x128xf32> into memref<1x8x4x1x128xf32>
    %s = memref.collapse_shape %e [[0], [1], [2, 3], [4]] : memref<1x8x4x1x128xf32> into memref<1x8x4x128xf32>
    fa.attention ins(%s, %k, %v : ...) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def SelectSchedulePass : Pass<"fa-select-schedule"> {
  let summary = "attach a schedule: the only place tile sizes come from";
  let description = [{
    Requires: attention on memrefs or tensors with a static depth. Guarantees: every `fa.attention` has a schedule that fits
    the target. A schedule that is already there is kept, after the same check. `schedule` overrides everything, `tile-q`, `tile-kv` and
    `order` override single fields of what the machine model picked. On CPUs, up to 16 queries are one tile with depth on lanes, and
    long keys are split where there are few such tiles: from the shape alone, never from the number of threads. A schedule that does not fit is refused with what is
    needed, what is available and the nearest one that fits. Leaves alone: everything else.

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...) schedule(#fa.schedule<tile_q = 64, tile_kv = 64, target = #fa.cpu>)
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "cpu or sm_90a">,
    Option<"schedule", "schedule", "std::string", "\"\"", "a whole #fa.schedule<...> attribute">,
    Option<"tileQ", "tile-q", "int64_t", "0", "query rows per tile (0: machine model)">,
    Option<"tileKv", "tile-kv", "int64_t", "0", "keys per tile (0: machine model)">,
    Option<"splitKeys", "split-keys", "bool", "true", "long keys may be split where there are few query tiles">,
    Option<"order", "order", "std::string", "\"\"", "query_outer (FlashAttention-2) or key_outer (FlashAttention-1)">,
    Option<"vectorBits", "vector-bits", "int64_t", "0",
           "width of a vector register of the CPU that code is for: 128, 256 or 512 (0: this machine)">];
}

def ReportTrafficPass : Pass<"fa-report-traffic"> {
  let summary = "report the bytes that attention moves to and from memory";
  let description = [{
    Requires: a schedule (`fa-select-schedule`) and static sizes; otherwise a remark says what is missing. Guarantees: one remark for
    each form (unfused, FlashAttention-1, FlashAttention-2) with the bytes of the traffic model, the touches of N x N matrices, and
    the tiles that the named masks leave. Leaves alone: all IR.

    ```mlir
    // remark: traffic, query_outer (FlashAttention-2), as scheduled: 4 MiB once, 8.25 MiB issued, 0 N x N touches, 36 of 64 tiles
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...) masks [#fa.causal<top_left>] schedule(#fa.schedule<...>)
    ```
  }];
}

def TileAttentionPass : Pass<"fa-tile-attention"> {
  let summary = "turn attention into loops over tiles with an online softmax";
  let description = [{
    Requires: memref form, no named masks (`fa-expand-masks`), a schedule (`fa-select-schedule`), a static depth.
    Guarantees: `fa.attention` is replaced by an `scf.forall` over (batch, head, query tile) of `fa.init`, an `scf.for` over
    key tiles of `fa.step`, and `fa.finish` (order query_outer); or over (batch, head) with key tiles outside, query tiles
    inside and states in memory (order key_outer). With `split_kv` = P > 1, the loop is over (part, batch, head, query tile),
    each part walks its share of the key tiles and leaves a partial output and log-sum-exp in memory, and a second loop over
    (batch, head) joins them with `fa.combine` (Flash-Decoding). Lengths need not be multiples of the tile sizes.
    Leaves alone: everything else.

    ```mlir
    scf.forall (%b, %h, %t) in (%batch, %heads, %tiles) {
      %s0 = fa.init : !fa.state<64x64xf32>
      %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %s0) -> (!fa.state<64x64xf32>) {
        %s1 = fa.step %s, %q[%b, %h, %t], %k, %v[%b, %hk, %j] tile_kv(64) scale(0.125) : ...
        scf.yield %s1 : !fa.state<64x64xf32>
      }
      fa.finish %r, %o[%b, %h, %t] : ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def EliminateMaskedTilesPass : Pass<"fa-eliminate-masked-tiles"> {
  let summary = "bound tile loops by the mask: no fully masked tile is visited";
  let description = [{
    Requires: tile loops as `fa-tile-attention` builds them (any order). Guarantees: the loop over the tiles of a step with a
    mask visits only tiles that may hold a visible pair, in one loop per run of such tiles; bounds are affine and arith
    operations on the lengths and on whatever the mask reads that depends on neither position. A query tile that sees
    nothing runs no step. Where the visible tiles are no union of ranges (dilation), a test per tile skips the rest
    (`tile-test`). A remark on the step tells the bounds; a second one, `conservative`, why they are not exact. Each
    result is proved by integer emptiness (`prove`); without a proof every tile is visited. Leaves alone: steps without a mask.

    ```mlir
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %s0) -> (!fa.state<64x64xf32>) {
      %s1 = fa.step %s, %q[%b, %h, %t], %k, %v[%b, %h, %j] tile_kv(64) mask (...) { j <= i } : ...
    ```
    becomes, for lengths that are multiples of 64,
    ```mlir
    %hi = affine.apply affine_map<()[s0] -> (s0 + 1)>()[%t]
    %r = scf.for %j = %c0 to %hi step %c1 iter_args(%s = %s0) -> (!fa.state<64x64xf32>) {
      %s1 = fa.step %s, %q[%b, %h, %t], %k, %v[%b, %h, %j] tile_kv(64) mask (...) { j <= i } : ...
    ```
    See docs/MaskAnalysis.md.
  }];
  let options = [
    Option<"prove", "prove", "bool", "true", "prove every result before it is used">,
    Option<"tileTest", "tile-test", "bool", "true", "test each tile where bounds alone are not exact">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def PeelMaskedTilesPass : Pass<"fa-peel-masked-tiles"> {
  let summary = "run full tiles in a loop whose step has no mask";
  let description = [{
    Requires: tile loops, best after `fa-eliminate-masked-tiles`. Guarantees: every loop is cut into loops of full tiles, whose
    step is marked `full` and has no mask region, and loops of partial ones, whose step keeps it. A step without a mask is
    cut at the last key tile when that one reaches past the keys. Loops run from the diagonal down: the induction variable
    counts from 0 and the tile is `hi - 1 - iv` (`order=ascending`: from the first tile up). Leaves alone: full steps; with
    key tiles outside, loops whose last key tile is not known to be whole.

    ```mlir
    %p = scf.for %iv = %c0 to %partial ... { %j = hi - 1 - %iv; fa.step ... mask {...} }
    %r = scf.for %iv = %c0 to %full ...    { %j = cut - 1 - %iv; fa.step ... full }
    ```
  }];
  let options = [
    Option<"prove", "prove", "bool", "true", "prove every result before it is used">,
    Option<"order", "order", "std::string", "\"descending\"", "descending (from the diagonal down) or ascending">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def ValidateTilesPass : Pass<"fa-validate-tiles", "::mlir::ModuleOp"> {
  let summary = "check by enumeration that tile loops visit what the mask shows";
  let description = [{
    Translation validation for given sizes. Requires: tile loops, of any order, before `fa-outline-kernels`. Walks them, then
    looks at every pair: no tile that is not visited holds a visible pair; no tile of a `full` step holds a hidden pair or
    reaches past the keys; no tile is visited twice. An error names tile and pair. A remark counts visited and masked tiles,
    and visited ones that hold no visible pair. What is visible comes from the `fa.attention` of the function `spec` (named
    masks by their own C++ method), else from the mask region of the masked steps. Sizes that types leave open come from
    `batch`, `heads`, `sq`, `sk`; `operand` stands for every argument and loaded integer (fa-run --validate knows the real
    ones). Leaves alone: everything; it changes no IR.

    ```mlir
    %r = scf.for %j = %c0 to %i step %c1 iter_args(%s = %s0) { fa.step ... mask {j <= i} }  // the diagonal tile is missing
    // error: query tile 0, key tile 0 of batch 0, head 0 was removed, but query 0 sees key 0
    ```
  }];
  let options = [
    Option<"spec", "spec", "std::string", "\"\"", "function whose fa.attention states what is visible">,
    Option<"batch", "batch", "int64_t", "1", "batch size where the type leaves it open">,
    Option<"heads", "heads", "int64_t", "1", "number of heads where the type leaves it open">,
    Option<"sq", "sq", "int64_t", "64", "number of queries where the type leaves it open">,
    Option<"sk", "sk", "int64_t", "64", "number of keys where the type leaves it open">,
    Option<"operand", "operand", "int64_t", "0", "value of every integer argument and load">];
}

def OutlineKernelsPass : Pass<"fa-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "turn scf.forall into a kernel function over a grid and a launch";
  let description = [{
    Requires: an `scf.forall` that starts at 0 with step 1 and has no shared outputs. Guarantees: each outermost one became a function
    marked `fa.kernel`, (block number, arguments) -> effects, and an `fa.launch`. Constants, dims, index arithmetic and views are
    cloned into the kernel; other captures become arguments. With `views-outside`, views stay with the launch and their results are
    arguments, for targets whose kernels take tensors by descriptors made on the host. Blocks are numbered with the last loop fastest. Leaves alone: everything else.

    ```mlir
    func.func @f_kernel(%block: index, %q: memref<...>, ...) attributes {fa.kernel} { ... }
    func.func @f(%q: memref<...>, ...) {
      fa.launch @f_kernel grid(%blocks) args(%q, ... : memref<...>, ...)
      return
    }
    ```
  }];
  let options = [Option<"viewsOutside", "views-outside", "bool", "false", "kernels take views as arguments">];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect"];
}

#endif // FA_DIALECT_FA_TRANSFORMS_PASSES
