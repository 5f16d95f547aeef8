// Which elements of the output a Hopper kernel may make NaN because of values that the row does not see.
#pragma once
#include "fa/Execution/Check.h"
#include "fa/Execution/Compile.h"

namespace fa::execution {

/// Of a kernel for sm_90a: elements whose query tile visits a key tile with a value that is not finite in the same
/// column (docs/Numerics.md, section 3). An empty function for other targets, and where all values are finite. `report`
/// is of the compiled kernel; `bindings` are host memory.
Expected<reference::TaintFunction> taintOf(const Program &program, const AttentionProblem &problem,
                                           const CompileReport &report, const runtime::Bindings &bindings);

} // namespace fa::execution
