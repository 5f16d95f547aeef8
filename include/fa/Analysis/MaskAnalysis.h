// From the mask region of a tiled attention to loop bounds in IR: reading, bounds, proof and emission joined.
#pragma once
#include "fa/Analysis/MaskBounds.h"
#include "fa/Analysis/MaskRegion.h"
#include "fa/Analysis/TileTest.h"

namespace mlir::fa {

class MaskAnalysis {
public:
  struct Options {
    /// Rows of a query tile, columns of a key tile.
    int64_t queryTile = 0, keyTile = 0;
    /// Key tiles outside, query tiles inside (FlashAttention-1, dK / dV): all results are then about query tiles.
    bool keyOuter = false;
    /// Gate the bounds with proveMaskBounds, as far as they are used. Without a proof every tile is visited.
    std::optional<ProofScope> proof = ProofScope::Everything;
  };

  /// Analyses `region`; an empty region hides nothing. Fails, with an error, for a region that is no mask.
  static FailureOr<MaskAnalysis> compute(Region &region, const MaskLengths &lengths, const Options &options,
                                         llvm::function_ref<InFlightDiagnostic()> emitError);

  const MaskReading &getReading() const { return reading; }
  const TileProblem &getProblem() const { return problem; }
  const MaskBounds &getBounds() const { return bounds; }
  const TileTest &getTest() const { return test; }
  /// True when a test per tile skips tiles that the bounds do not.
  bool wantsTest() const;
  /// True when the bounds were given up: every tile is visited, none is full.
  bool isFallback() const { return fallback; }
  bool isExact() const { return bounds.visibleExact && bounds.fullExact; }

  /// What the emitted bounds are about: the values of the region's b and h, the tile of the outer loop, and the
  /// two lengths. All of index type.
  struct Context {
    Value batch, head, outerTile, sq, sk;
  };
  /// The symbols of the bounds by TileSymbol: clones of the operands at the builder's position. Null `inRange`:
  /// nothing to check; else false when an operand is so large that the bounds must not be used.
  struct Symbols {
    SmallVector<Value> values;
    Value inRange;
  };
  Symbols materializeSymbols(OpBuilder &builder, Location loc, const Context &context) const;
  /// The segments of one outer tile, grouped by run.
  std::vector<std::vector<TileSegment<Value>>> materializeRuns(OpBuilder &builder, Location loc,
                                                               const Symbols &symbols) const;
  /// Is inner tile `tile` visited? One i1.
  Value materializeTest(OpBuilder &builder, Location loc, const Symbols &symbols, Value tile) const;

  /// One line for a remark: `key tiles [0, i], full below i`; explains qLast where it appears.
  std::string describe() const;

private:
  Region *region = nullptr;
  Options options;
  MaskReading reading;
  TileProblem problem; // transposed when key_outer
  MaskBounds bounds;
  TileTest test;
  bool fallback = false;

  /// How an operand of 64 bits is kept from overflowing the bounds.
  enum class Safety { Narrow, Clamp, Check };
  SmallVector<Safety> safety;

  void classifyOperands();
  void fallBack(std::string note);
  SmallVector<std::string> symbolNames() const;
};

} // namespace mlir::fa
