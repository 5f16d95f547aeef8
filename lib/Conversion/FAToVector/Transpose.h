// Transposes in registers.
#pragma once
#include "Emitter.h"

namespace mlir::fa::cpu {

/// Elements of the computing type in 128 bits, or in a vector where that is smaller: what shuffles move cheaply.
int64_t groupOf(const Emitter &e);

/// Transposes squares of group x group elements: group n of vector j becomes the elements j of group n of all vectors
/// (`groupOf` vectors, log2(group) stages). With rows n * group + k in group n of vector k, vector j is column j.
void emitGroupTranspose(Emitter &e, MutableArrayRef<Value> vectors);

/// `group` elements of a 1-d buffer, again in every group of a vector.
Value emitRepeated(Emitter &e, Value buffer, Value position);

/// A vector made of `lanes / group` pieces of `group` elements: on x86, insertions whose operand is memory.
Value emitJoin(Emitter &e, ArrayRef<Value> pieces);

} // namespace mlir::fa::cpu
