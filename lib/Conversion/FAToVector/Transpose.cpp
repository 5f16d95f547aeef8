// Transposes in registers. Shuffles of two vectors run on one port of an x86 core; pieces of 128 bits come from memory,
// so that only shuffles inside them are left.
#include "Transpose.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::fa::cpu;

int64_t mlir::fa::cpu::groupOf(const Emitter &e) {
  return std::min<int64_t>(e.table.lanes, 128 / e.type.getIntOrFloatBitWidth());
}

/// The low (or high) halves of every group of a and b, interleaved by runs of `run` elements: one instruction on x86.
static Value unpack(Emitter &e, Value a, Value b, int64_t run, bool high) {
  const int64_t lanes = e.table.lanes, group = groupOf(e);
  SmallVector<int64_t> picked;
  for (int64_t first = 0; first < lanes; first += group)
    for (int64_t n = 0; n < group / 2; n += run)
      for (int64_t source : {int64_t(0), lanes})
        for (int64_t k = 0; k < run; ++k)
          picked.push_back(source + first + (high ? group / 2 : 0) + n + k);
  return vector::ShuffleOp::create(e.builder, e.loc, a, b, picked);
}

void mlir::fa::cpu::emitGroupTranspose(Emitter &e, MutableArrayRef<Value> vectors) {
  const int64_t group = groupOf(e);
  for (int64_t run = 1; run < group; run *= 2)
    for (int64_t first = 0; first < group; first += 2 * run) {
      SmallVector<Value> next;
      for (int64_t k = 0; k < run; ++k)
        for (bool high : {false, true})
          next.push_back(unpack(e, vectors[first + k], vectors[first + run + k], run, high));
      llvm::copy(next, vectors.begin() + first);
    }
}

Value mlir::fa::cpu::emitRepeated(Emitter &e, Value buffer, Value position) {
  const int64_t group = groupOf(e);
  SmallVector<int64_t> picked;
  for (int64_t lane = 0; lane < e.table.lanes; ++lane)
    picked.push_back(lane % group);
  Value piece = vector::LoadOp::create(e.builder, e.loc, VectorType::get({group}, e.type), buffer, position);
  return vector::ShuffleOp::create(e.builder, e.loc, piece, piece, picked);
}

Value mlir::fa::cpu::emitJoin(Emitter &e, ArrayRef<Value> pieces) {
  if (pieces.size() == 1)
    return pieces[0];
  auto pieceType = cast<VectorType>(pieces[0].getType());
  const int64_t bits = pieceType.getElementTypeBitWidth() * pieceType.getNumElements();
  auto type = VectorType::get({e.table.lanes}, pieceType.getElementType());
  if (bits == 128) {
    Value vector = LLVM::PoisonOp::create(e.builder, e.loc, type);
    for (auto [n, piece] : llvm::enumerate(pieces))
      vector = LLVM::vector_insert::create(e.builder, e.loc, type, vector, piece, int64_t(n) * groupOf(e));
    return vector;
  }
  // LLVM would insert 16-bit elements one by one.
  Type word = e.builder.getIntegerType(bits);
  SmallVector<Value> words;
  for (Value piece : pieces) {
    Value single = vector::BitCastOp::create(e.builder, e.loc, VectorType::get({1}, word), piece);
    words.push_back(vector::ExtractOp::create(e.builder, e.loc, single, int64_t(0)));
  }
  auto wordsType = VectorType::get({static_cast<int64_t>(words.size())}, word);
  Value joined = vector::FromElementsOp::create(e.builder, e.loc, wordsType, words);
  return vector::BitCastOp::create(e.builder, e.loc, type, joined);
}
