// Mutants of PTX text: each drops or weakens one synchronisation. They test the checkers (every mutant of a correct
// kernel should be reported) and a kernel (a mutant that nothing reports points at a redundant synchronisation).
#pragma once
#include <string>
#include <vector>

namespace fa::runtime::tool {

struct Mutant {
  std::string kind;     ///< family of the synchronisation, e.g. `bar.sync`
  std::string change;   ///< `drop` or what was weakened
  int line = 0;         ///< 1-based
  int occurrence = 0;   ///< counts statements of this kind and change, from 1: stable when other lines move
  std::string original; ///< the statement
  std::string text;     ///< the whole PTX of the mutant
  std::string probe;    ///< the PTX with a trap in place of the statement: clean only when it is never executed
};

/// All mutants of a PTX text, in order of their lines.
std::vector<Mutant> makeMutants(const std::string &ptx);

} // namespace fa::runtime::tool
