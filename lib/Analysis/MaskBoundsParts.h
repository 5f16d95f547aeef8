// The two halves of computeMaskBounds. Private to the analysis.
#pragma once
#include "KeySpan.h"
#include "fa/Analysis/MaskBounds.h"

namespace mlir::fa {

/// Fills `bounds.runs` (without cuts) from the pairs that may be visible.
void computeVisibleRuns(TileSystem &system, MaskBounds &bounds);
/// Fills `bounds.fullRanges` from the pairs that may be hidden.
void computeFullRanges(TileSystem &system, MaskBounds &bounds);

inline constexpr const char *kNormalFormNote = "the mask has too many alternatives: only a part of it bounds the tiles";
inline constexpr const char *kEliminationNote = "the visible keys of a query tile are no interval";

} // namespace mlir::fa
