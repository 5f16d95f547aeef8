// Scalar operations that are one instruction of ScalarCode.
#pragma once
#include "fa/Execution/ScalarCode.h"
#include "llvm/ADT/StringMap.h"

namespace fa::execution {

/// By operation name: those whose operands and result map one to one to an instruction.
const llvm::StringMap<Opcode> &simpleOperations();

} // namespace fa::execution
