// Time of the mask analysis, from the region in IR to bounds and to proved bounds, with symbolic lengths. Exit status 1
// when a mask takes longer than the limits: 1 ms for causal and window, 3 ms for the others, 15 ms for a proof.
#include "fa/Analysis/MaskAnalysis.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <ctime>

using namespace mlir;
using namespace mlir::fa;

namespace {
struct Entry {
  const char *name;
  double limit; // milliseconds, without the proof
  const char *region;
};

constexpr const char *kOffset = "%off = arith.subi %sk, %sq : index\n%p = arith.addi %i, %off : index\n";

const Entry kMasks[] = {
    {"causal top_left", 1, "%r = arith.cmpi sle, %j, %i : index"},
    {"causal bottom_right", 1, "$%r = arith.cmpi sle, %j, %p : index"},
    {"causal + window bottom_right", 1,
     "$%c = arith.constant -511 : index\n%f = arith.addi %p, %c : index\n%x = arith.cmpi sle, %j, %p : index\n"
     "%y = arith.cmpi sge, %j, %f : index\n%r = arith.andi %x, %y : i1"},
    {"window both sides", 1,
     "%c = arith.constant 255 : index\n%f = arith.subi %i, %c : index\n%g = arith.addi %i, %c : index\n"
     "%x = arith.cmpi sle, %j, %g : index\n%y = arith.cmpi sge, %j, %f : index\n%r = arith.andi %x, %y : i1"},
    {"prefix-LM", 3,
     "%x = arith.cmpi sle, %j, %i : index\n%y = arith.cmpi slt, %j, %len : index\n%r = arith.ori %x, %y : i1"},
    {"block-local 96", 3,
     "%c = arith.constant 96 : index\n%x = arith.divui %i, %c : index\n%y = arith.divui %j, %c : index\n%r = "
     "arith.cmpi eq, %x, %y : index"},
    {"dilated 13", 3,
     "%c = arith.constant 13 : index\n%z = arith.constant 0 : index\n%d = arith.subi %i, %j : index\n%m = arith.remsi "
     "%d, %c : index\n"
     "%r = arith.cmpi eq, %m, %z : index"},
    {"causal + length per batch", 3,
     "%x = arith.cmpi sle, %j, %i : index\n%y = arith.cmpi slt, %j, %len : index\n%r = arith.andi %x, %y : i1"},
    {"causal + offset per batch", 3, "%p = arith.addi %i, %len : index\n%r = arith.cmpi sle, %j, %p : index"},
    {"documents + causal", 3,
     "%a = memref.load %doc[%i] : memref<?xi32>\n%c = memref.load %doc[%j] : memref<?xi32>\n%x = arith.cmpi eq, %a, %c "
     ": i32\n"
     "%y = arith.cmpi sle, %j, %i : index\n%r = arith.andi %x, %y : i1"},
    {"sinks | window, causal", 3,
     "%c = arith.constant 4 : index\n%l = arith.constant 255 : index\n%f = arith.subi %i, %l : index\n%x = arith.cmpi "
     "slt, %j, %c : index\n"
     "%y = arith.cmpi sge, %j, %f : index\n%e = arith.ori %x, %y : i1\n%z = arith.cmpi sle, %j, %i : index\n%r = "
     "arith.andi %e, %z : i1"},
    {"always false", 3,
     "%x = arith.cmpi sgt, %j, %i : index\n%y = arith.cmpi slt, %j, %i : index\n%r = arith.andi %x, %y : i1"},
    {"always true", 3, "%z = arith.constant 0 : index\n%r = arith.cmpi sge, %j, %z : index"},
    {"single pair", 3,
     "%c = arith.constant 1000 : index\n%d = arith.constant 500 : index\n%x = arith.cmpi eq, %i, %c : index\n%y = "
     "arith.cmpi eq, %j, %d : index\n"
     "%r = arith.andi %x, %y : i1"},
};

std::string functionFor(const Entry &entry) {
  std::string region = entry.region;
  if (region.front() == '$')
    region = kOffset + region.substr(1);
  std::string type = "memref<?x?x?x64xbf16>";
  return "func.func @f(%q: " + type + ", %k: " + type + ", %o: " + type +
         ", %lens: memref<?xi32>, %doc: memref<?xi32>) {\n" +
         "%c2 = arith.constant 2 : index\n%sq = memref.dim %q, %c2 : " + type + "\n%sk = memref.dim %k, %c2 : " + type +
         "\nfa.attention ins(%q, %k, %k : " + type + ", " + type + ", " + type + ") outs(%o : " + type +
         ") mask (%b: index, %h: index, %i: index, %j: index) {\n%len32 = memref.load %lens[%b] : memref<?xi32>\n" +
         "%len = arith.index_cast %len32 : i32 to index\n" + region + "\nfa.yield %r : i1\n}\nreturn\n}\n";
}

/// Time that this thread has computed, in milliseconds: what other processes take does not count.
double threadTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

/// Median of repeated runs.
template <typename Body> double median(Body body) {
  std::vector<double> times;
  for (int n = 0; n < 31; ++n) {
    double start = threadTime();
    body();
    times.push_back(threadTime() - start);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}
} // namespace

int main() {
  MLIRContext context;
  context
      .loadDialect<FADialect, arith::ArithDialect, func::FuncDialect, memref::MemRefDialect, affine::AffineDialect>();
  bool inTime = true;
  llvm::outs()
      << "mask                            bounds    limit    proof   result (tiles of 128 queries x 128 keys)\n";
  for (const Entry &entry : kMasks) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(functionFor(entry), &context);
    if (!module)
      return 2;
    AttentionOp attention;
    module->walk([&](AttentionOp op) { attention = op; });
    MaskLengths lengths;
    lengths.queryBuffers = {attention.getQuery()};
    lengths.keyBuffers = {attention.getKey()};
    MaskAnalysis::Options options;
    options.queryTile = options.keyTile = 128;
    std::string result;
    auto analyze = [&](std::optional<ProofScope> proof) {
      options.proof = proof;
      result = MaskAnalysis::compute(attention.getMask(), lengths, options, [&] {
                 return attention.emitError();
               })->describe();
    };
    double bounds = median([&] { analyze(std::nullopt); });
    double proved = median([&] { analyze(ProofScope::Everything); });
    double proof = std::max(proved - bounds, 0.0);
    inTime &= bounds <= entry.limit && proof <= 15;
    llvm::outs() << llvm::format("%-28s %6.3f ms  %4.0f ms %6.3f ms   ", entry.name, bounds, entry.limit, proof)
                 << result << "\n";
  }
  llvm::outs() << (inTime ? "all within the limits\n" : "a limit was exceeded\n");
  return inTime ? 0 : 1;
}
