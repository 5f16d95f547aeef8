// Breaks two rules: LLVM in the runtime, and a path that leaves the folder.
#include "fa/Support/Good.h"
#include "llvm/ADT/StringRef.h"
#include "../Reference/Naive.h"
