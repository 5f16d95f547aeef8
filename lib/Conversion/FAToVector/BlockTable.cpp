// Measured block sizes.
#include "BlockTable.h"

using namespace mlir::fa::cpu;

BlockTable mlir::fa::cpu::selectBlockTable(int64_t vectorBits, bool avx512, Type computeType, int64_t tileQ,
                                           int64_t tileKv) {
  BlockTable table;
  table.lanes = vectorBits / computeType.getIntOrFloatBitWidth();
  table.avx512 = avx512 && vectorBits == 512;
  table.fused = vectorBits >= 256;
  // 32 registers: 8 x 2 (16 + 3). 16 registers with fused operations: 6 x 2 (12 + 3) covers their latency, which 4 x 2
  // does just not. Without them 4 x 2 (8 + 3, and a product).
  table.keys = vectorBits == 512 ? 8 : vectorBits == 256 && tileKv % 6 == 0 ? 6 : 4;
  // Few queries (decoding): one vector of them, and as many accumulators as before.
  if (tileQ <= table.lanes) {
    table.queryVectors = 1;
    table.keys *= 2;
  }
  while (tileKv % table.keys != 0)
    table.keys /= 2;
  return table;
}
