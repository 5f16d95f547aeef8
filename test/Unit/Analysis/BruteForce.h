// Tile kinds by looking at every pair, and the comparison with derived bounds.
#pragma once
#include "TestMasks.h"
#include "fa/Analysis/MaskBounds.h"
#include "fa/Analysis/TileTest.h"
#include <algorithm>

namespace fa::test {
using mlir::fa::MaskBounds;
using mlir::fa::TileKind;
using mlir::fa::TileProblem;
using mlir::fa::TileTest;
using mlir::fa::Truth;

/// What a mask may show and what it certainly shows, for one pair of lengths.
class PairTable {
public:
  int64_t sq, sk;
  PairTable(const Mask &mask, int64_t sq, int64_t sk, llvm::ArrayRef<int64_t> operands)
      : sq(sq), sk(sk), truths(sq * sk), symbols({sq, sk}) {
    symbols.append(operands.begin(), operands.end());
    for (int64_t i = 0; i < sq; ++i)
      for (int64_t j = 0; j < sk; ++j)
        truths[i * sk + j] = mask.evaluate(i, j, symbols);
  }
  /// The symbols {Sq, Sk, operands...}.
  llvm::ArrayRef<int64_t> maskSymbols() const { return symbols; }
  Truth at(int64_t i, int64_t j) const { return truths[i * sk + j]; }

private:
  std::vector<Truth> truths;
  llvm::SmallVector<int64_t> symbols;
};

struct Faults {
  long tiles = 0;
  long lostVisible = 0; ///< a skipped tile may hold a visible pair
  long wrongFull = 0;   ///< a full tile may hold a hidden pair or reaches past Sk
  long badSegment = 0;  ///< out of order, or outside the grid
  long extraTiles = 0;  ///< a visited tile is empty
  long missedFull = 0;  ///< a full tile runs with its mask
  bool sound() const { return lostVisible == 0 && wrongFull == 0 && badSegment == 0; }
};

/// Judges one classification of the key tiles of one query tile (0 skipped, 1 partial, 2 full).
inline void judge(const PairTable &pairs, int64_t first, int64_t last, int64_t keyTile, llvm::ArrayRef<int> kinds,
                  Faults &faults) {
  for (int64_t k = 0; k < int64_t(kinds.size()); ++k) {
    bool any = false, all = (k + 1) * keyTile <= pairs.sk;
    for (int64_t i = first; i <= last; ++i)
      for (int64_t j = k * keyTile; j < std::min((k + 1) * keyTile, pairs.sk); ++j) {
        any |= pairs.at(i, j) != Truth::False;
        all &= pairs.at(i, j) == Truth::True;
      }
    ++faults.tiles;
    faults.lostVisible += any && kinds[k] == 0;
    faults.wrongFull += !all && kinds[k] == 2;
    faults.extraTiles += !any && kinds[k] != 0;
    faults.missedFull += all && kinds[k] != 2;
  }
}

/// Calls `body(tile symbols, first row, last row)` for every query tile.
template <typename Body> void forEachQueryTile(const PairTable &pairs, int64_t queryTile, Body body) {
  for (int64_t tile = 0; tile * queryTile < pairs.sq; ++tile) {
    int64_t last = std::min((tile + 1) * queryTile, pairs.sq) - 1;
    llvm::SmallVector<int64_t> symbols = {tile, last};
    symbols.append(pairs.maskSymbols().begin(), pairs.maskSymbols().end());
    body(symbols, tile * queryTile, last);
  }
}

inline void checkBounds(const PairTable &pairs, const MaskBounds &bounds, int64_t queryTile, int64_t keyTile,
                        Faults &faults) {
  int64_t numTiles = (pairs.sk + keyTile - 1) / keyTile;
  forEachQueryTile(pairs, queryTile, [&](llvm::ArrayRef<int64_t> symbols, int64_t first, int64_t last) {
    std::vector<int> kinds(numTiles, 0);
    int64_t previous = 0;
    for (auto [kind, lower, upper] : bounds.evaluate(symbols)) {
      if (lower >= upper)
        continue;
      faults.badSegment += lower < previous || upper > numTiles;
      previous = upper;
      for (int64_t k = std::max<int64_t>(lower, 0); k < std::min(upper, numTiles); ++k)
        kinds[k] = kind == TileKind::Full ? 2 : 1;
    }
    judge(pairs, first, last, keyTile, kinds, faults);
  });
}

inline void checkTileTest(const PairTable &pairs, const TileTest &test, int64_t queryTile, int64_t keyTile,
                          Faults &faults) {
  int64_t numTiles = (pairs.sk + keyTile - 1) / keyTile;
  forEachQueryTile(pairs, queryTile, [&](llvm::SmallVector<int64_t> symbols, int64_t first, int64_t last) {
    std::vector<int> kinds;
    symbols.push_back(0);
    for (int64_t k = 0; k < numTiles; ++k) {
      symbols.back() = k;
      std::optional<TileKind> kind = test.evaluate(symbols, keyTile);
      kinds.push_back(!kind ? 0 : *kind == TileKind::Full ? 2 : 1);
    }
    judge(pairs, first, last, keyTile, kinds, faults);
  });
}

inline TileProblem makeProblem(mlir::MLIRContext *context, const TestMask &mask, int64_t queryTile, int64_t keyTile) {
  TileProblem problem;
  problem.context = context;
  problem.mask = mask.mask;
  problem.numOperands = mask.numOperands();
  problem.queryTile = queryTile;
  problem.keyTile = keyTile;
  problem.facts = mask.facts;
  return problem;
}
} // namespace fa::test
