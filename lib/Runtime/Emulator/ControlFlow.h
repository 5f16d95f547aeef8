// Basic blocks of an entry, immediate post-dominators, and bit-set data flow over them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fa::runtime::emulator {

struct Block {
  uint32_t begin = 0, end = 0;      ///< instructions
  std::vector<uint32_t> successors; ///< block numbers; the exit is blocks.size()
  std::vector<uint32_t> predecessors;
  uint32_t postDominator = 0; ///< immediate; blocks.size() when it is the exit (or none)
};

/// What the graph needs to know of one instruction.
struct Flow {
  std::vector<uint32_t> targets; ///< branch targets (instruction numbers)
  bool falls = true;             ///< control may go on to the next instruction
  bool exits = false;            ///< control may leave
};

std::vector<Block> buildBlocks(const std::vector<Flow> &flow);

/// A set of small integers.
class BitSet {
public:
  explicit BitSet(std::size_t size = 0) : words((size + 63) / 64) {}
  void set(std::size_t i) { words[i / 64] |= uint64_t(1) << (i % 64); }
  void reset(std::size_t i) { words[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  bool test(std::size_t i) const { return words[i / 64] >> (i % 64) & 1; }
  void clear() { words.assign(words.size(), 0); }
  /// this |= other; true when something changed.
  bool unite(const BitSet &other) {
    uint64_t changed = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      uint64_t merged = words[i] | other.words[i];
      changed |= merged ^ words[i];
      words[i] = merged;
    }
    return changed;
  }
  template <typename Visit> void forEach(Visit visit) const {
    for (std::size_t w = 0; w < words.size(); ++w)
      for (uint64_t bits = words[w]; bits; bits &= bits - 1)
        visit(w * 64 + __builtin_ctzll(bits));
  }

private:
  std::vector<uint64_t> words;
};

} // namespace fa::runtime::emulator
