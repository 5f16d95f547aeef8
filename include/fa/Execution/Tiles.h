// Which tiles the compiled loops of a program visit for one run: pictures, counts, and translation validation against
// the mask as the user wrote it.
#pragma once
#include "fa/Analysis/TileMap.h"
#include "fa/Execution/Check.h"
#include "fa/Execution/Compile.h"
#include "fa/Runtime/Driver.h"
#include "fa/Support/Expected.h"
#include <string>

namespace fa::execution {

/// What the tile loops of a program visit.
struct TracedTiles {
  mlir::fa::TileGrid grid;
  std::vector<mlir::fa::TileMap> maps; ///< [batch * heads + head]
};

/// Lowers the program to tile loops (L3) for `target` (cpu or sm_90a) and walks them with the sizes and data of
/// `bindings`, which are host memory.
Expected<TracedTiles> traceTiles(const Program &program, const CompileOptions &options, const std::string &target,
                                 const runtime::Bindings &bindings);

struct TileReport {
  int64_t batch = 0, heads = 0;
  int64_t visited = 0, masked = 0, skipped = 0; ///< over all heads
  int64_t empty = -1;                           ///< visited tiles without a visible pair; -1: not validated
  std::string text;                             ///< tiles of batch 0, head 0 as characters
  std::string svg;                              ///< the same as a picture
  std::string summary;                          ///< `528 of 1024 tiles visited, ...`
};

/// traceTiles, drawn and counted. With `validate`, looks at every pair: fails, naming tile and pair, if a removed tile
/// holds a visible pair or an unmasked tile a hidden one.
Expected<TileReport> inspectTiles(const Program &program, const CompileOptions &options,
                                  const runtime::Bindings &bindings, bool validate);

} // namespace fa::execution
