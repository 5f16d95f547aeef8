// Counts the tiles that a kernel visits: its own loops, with every step replaced by a counter.
#pragma once
#include "CpuCode.h"
#include "fa/Execution/Compile.h"

namespace fa::execution {

class TileCensus {
public:
  /// `kernels` has outlined kernels whose steps are still there; it is left as it is.
  static Expected<std::unique_ptr<TileCensus>> compile(mlir::ModuleOp kernels, const Program &program,
                                                       unsigned threads);

  /// Bindings of host tensors by name; what the kernel's outputs are bound to is overwritten.
  Expected<TileCounts> run(const runtime::Bindings &bindings);

private:
  std::unique_ptr<CpuCode> code;
  int64_t tileQ = 1, tileKv = 1;
  std::string query, key; ///< names of the tensors that say how many tiles there are
};

} // namespace fa::execution
