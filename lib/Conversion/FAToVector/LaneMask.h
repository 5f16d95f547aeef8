// Masks that are a few operations on positions, evaluated on vector lanes in registers.
#pragma once
#include "Emitter.h"
#include "mlir/IR/Region.h"

namespace mlir::fa::cpu {

/// Positions are integers as wide as the computing type, so that comparing them takes one instruction and gives the
/// mask of as many lanes.
class LaneMask {
public:
  /// None where the mask (null: every pair is visible) reads memory, takes too many operations, or may reach numbers
  /// that do not fit a lane; with a mask, lengths that are not static never fit.
  static std::optional<LaneMask> of(Region *mask, int64_t seqQ, int64_t seqKv, const Emitter &e);

  /// base, base + 1, ... on the lanes.
  Value positions(Emitter &e, Value base) const;
  /// `base` + offset on every lane, `base` as `broadcast` gives it.
  Value broadcast(Emitter &e, Value base) const;
  Value offset(Emitter &e, Value positions, int64_t offset) const;
  /// vector<lanes x i1>: the queries see the keys. Only with a mask.
  Value visible(Emitter &e, Value queries, Value keys) const;

private:
  explicit LaneMask(Region *mask) : mask(mask) {}

  Region *mask;
};

} // namespace mlir::fa::cpu
