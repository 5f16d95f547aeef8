// The demonstrations of the lesson. Each prints what it did and returns whether its claim holds.
#pragma once
#include "Trial.h"

namespace fa::execution::lesson {

/// The page that the demonstrations write on, and how they compile.
struct Lesson {
  std::ostream &out;
  CompileOptions options;

  /// printf-style line.
  void line(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// The last line of a demonstration; returns `holds`.
  bool verdict(bool holds, const std::string &claim);
};

// Exactness: Exactness.cpp
Expected<bool> tiledEqualsNaive(Lesson &lesson);
Expected<bool> tileSizesDoNotMatter(Lesson &lesson);
Expected<bool> loopOrdersAgree(Lesson &lesson);
// The online softmax: OnlineSoftmax.cpp
Expected<bool> rowsSeeEarlierKeysOnly(Lesson &lesson);
Expected<bool> shiftedLogitsStayFinite(Lesson &lesson);
Expected<bool> rescaleFactorIsOne(Lesson &lesson);
// Memory: Lesson.cpp
Expected<bool> trafficIsLinear(Lesson &lesson);

} // namespace fa::execution::lesson
