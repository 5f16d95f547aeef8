// Atomic operations on one element, used by atom and red.
#pragma once
#include "OpTable.h"
#include <cstdint>
#include <string_view>

namespace fa::runtime::emulator {

enum class AtomicType : uint8_t { U32, S32, U64, S64, B32, B64, B16, F16, BF16, F16x2, BF16x2, F32, F64 };
enum class AtomicOperation : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Exchange, Cas };

bool atomicType(std::string_view name, AtomicType &type);
bool atomicOperation(const Opcode &op, AtomicOperation &operation);
unsigned bytesOf(AtomicType type);
/// The new value of an element; `compare` is used by Cas only.
uint64_t applyAtomic(AtomicOperation operation, AtomicType type, uint64_t old, uint64_t value, uint64_t compare);
/// Reads, modifies and writes `bytes` bytes at `host` as one step with respect to other host threads; returns the old
/// value.
uint64_t updateAtomically(uint8_t *host, AtomicOperation operation, AtomicType type, uint64_t value, uint64_t compare);

} // namespace fa::runtime::emulator
