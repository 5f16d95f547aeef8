// Kernels for few query rows (decoding): depth on vector lanes for Q K^T and P V, keys read once and in order.
// docs/Decisions/0610.
#pragma once
#include "KernelShape.h"
#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa::cpu {

/// How the columns of a row become vectors of the computing type. `paired`: two vectors come from one load of 16-bit
/// elements, the even columns by a shift and the odd ones by a mask (half the instructions of a conversion), so that a
/// chunk of 2 * lanes columns lies in memory as its even, then its odd columns. Only bf16 is paired.
struct ColumnOrder {
  int64_t depth = 0;
  bool paired = false;
};

/// A vector of scores holds `rows` query rows x `group` keys; `lanes` vectors of products, with columns on lanes, are
/// added up into it.
struct DecodeShape {
  KernelShape kernel;        ///< table.keys: the keys of a block
  Type element;              ///< of query, key and value
  ColumnOrder order, orderV; ///< of query / key and of value / output in scratch memory
  int64_t rows = 1;          ///< query rows on one vector
  int64_t rowBlocks = 1;     ///< vectors of query rows
  bool stageKeys = false;    ///< blocks of keys whose columns are apart are copied before use
  bool stageValues = false;  ///< so are blocks of values
  int64_t lanes() const { return kernel.table.lanes; }
  int64_t blockKeys() const { return kernel.table.keys; }
  int64_t group() const { return lanes() / rows; }
  int64_t scoreVectors() const { return blockKeys() / group(); } ///< of one row block and one block of keys
  int64_t paddedDepth() const { return llvm::alignTo(order.depth, lanes()); }
  int64_t paddedDepthV() const { return llvm::alignTo(orderV.depth, lanes()); }
};

/// For states of `kernel.tileQ` rows that `steps` advance.
DecodeShape decodeShape(const KernelShape &kernel, ArrayRef<StepOp> steps);

/// Views of the scratch arena. Row block b owns rows [b n, (b + 1) n) of what has n rows a block.
class DecodeScratch {
public:
  DecodeScratch(Emitter &e, Value arena, const DecodeShape &shape);
  static MemRefType arenaType(OpBuilder &builder, const DecodeShape &shape);

  Value queries;   ///< (rowBlocks * rows) x paddedDepth: scaled, columns in `order`
  Value output;    ///< (rowBlocks * rows) x paddedDepthV: unnormalised, columns in `orderV`
  Value scores;    ///< (rowBlocks * scoreVectors) x lanes: P of the block at work
  Value reference; ///< rowBlocks * lanes: subtracted from scores, the same on all lanes of a row; 0 until it saw a key
  Value threshold; ///< rowBlocks * lanes: a score above it raises the reference; -inf until the row saw a key
  Value sum;       ///< rowBlocks * lanes: sums of the keys of each lane
  Value keys;      ///< blockKeys x paddedDepth: staged keys
  Value values;    ///< blockKeys x paddedDepthV: staged values; at the end, a row of the output
};

} // namespace mlir::fa::cpu
