// The order of the demonstrations, and the one about memory traffic.
#include "Lesson.h"
#include "fa/Analysis/TrafficModel.h"
#include <cstdarg>
#include <cstdio>

namespace fa::execution {
namespace lesson {

void Lesson::line(const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  out << "   " << text << "\n";
}

bool Lesson::verdict(bool holds, const std::string &claim) {
  out << (holds ? "   holds: " : "   DOES NOT HOLD: ") << claim << "\n\n" << std::flush;
  return holds;
}

Expected<bool> trafficIsLinear(Lesson &lesson) {
  analysis::AttentionShape shape;
  shape.input = shape.output = DType::BF16;
  const analysis::TiledForm form;
  Expected<std::string> table = analysis::trafficTable(shape, form, analysis::defaultTrafficLengths(), DType::BF16);
  if (!table)
    return table.error();
  lesson.line("one head of depth 64 in bf16, tiles of 128 x 128");
  lesson.out << *table;

  const auto atLength = [&](int64_t n) {
    shape.seqQ = shape.seqKv = n;
    return std::pair(analysis::naiveTraffic(shape, DType::BF16), analysis::queryOuterTraffic(shape, form));
  };
  const auto [naive, flash] = atLength(2048);
  const auto [naiveTwice, flashTwice] = atLength(4096);
  if (!naive || !flash || !naiveTwice || !flashTwice)
    return makeError("expected a traffic model of the lesson's shape");
  const double naiveGrowth = double(naiveTwice->issued()) / double(naive->issued());
  const double flashGrowth = double(flashTwice->once()) / double(flash->once());
  lesson.line("from N = 2048 to 4096: naive x %.2f, FlashAttention-2 (each tensor once) x %.2f", naiveGrowth,
              flashGrowth);
  return lesson.verdict(naiveGrowth > 3.5 && flashGrowth == 2.0 && flash->squareTouches == 0 &&
                            naive->squareTouches > 0,
                        "naive traffic grows with N^2; flash traffic with N, and it touches no N x N matrix");
}

} // namespace lesson

Expected<bool> runLesson(std::ostream &out, const CompileOptions &options) {
  struct Demonstration {
    const char *title;
    Expected<bool> (*show)(lesson::Lesson &);
  };
  const Demonstration demonstrations[] = {
      {"The tiled form computes what the naive form computes", lesson::tiledEqualsNaive},
      {"Tile sizes do not change the result", lesson::tileSizesDoNotMatter},
      {"Under a causal mask, row i depends on keys 0..i only", lesson::rowsSeeEarlierKeysOnly},
      {"Logits far from zero do not overflow", lesson::shiftedLogitsStayFinite},
      {"FlashAttention-1 and FlashAttention-2 differ in loop order only", lesson::loopOrdersAgree},
      {"While the row reference stays, the accumulator is rescaled by exactly 1", lesson::rescaleFactorIsOne},
      {"What the tiled form is for: memory traffic", lesson::trafficIsLinear},
  };
  if (options.lowering == "naive")
    return makeError(
        "expected --lowering auto, loops or vector, because the lesson compares tiled forms with the naive one, "
        "but got naive");
  lesson::Lesson page{out, options};
  bool all = true;
  int number = 0;
  for (const Demonstration &demonstration : demonstrations) {
    out << ++number << ". " << demonstration.title << "\n";
    Expected<bool> holds = demonstration.show(page);
    if (!holds)
      return holds.error();
    all &= *holds;
  }
  out << (all ? "All seven demonstrations hold.\n" : "Not all demonstrations hold.\n");
  return all;
}

} // namespace fa::execution
