// Reading, bounds and proof of one mask.
#include "fa/Analysis/MaskAnalysis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;

/// More comparisons than this per tile cost more than the tiles they skip.
static constexpr unsigned kMaxTestSize = 16;
/// Leaves beyond this could overflow with operands of kMaxOperand.
static constexpr double kMaxLeafMagnitude = 0x1p53;

static bool hasHugeLeaf(const TileBound &bound) {
  if (bound.kind() == TileBound::Kind::Affine)
    return affineMagnitude(bound.expr()) > kMaxLeafMagnitude;
  return llvm::any_of(bound.guards(), [](AffineExpr guard) { return affineMagnitude(guard) > kMaxLeafMagnitude; }) ||
         llvm::any_of(bound.terms(), hasHugeLeaf);
}

static bool mayOverflow(const MaskBounds &bounds) {
  return llvm::any_of(bounds.runs, [](const TileRun &run) {
    return hasHugeLeaf(run.lower) || hasHugeLeaf(run.upper) || hasHugeLeaf(run.cover) ||
           llvm::any_of(run.cuts, [](const TileCut &cut) { return hasHugeLeaf(cut.raw); });
  });
}

FailureOr<MaskAnalysis> MaskAnalysis::compute(Region &region, const MaskLengths &lengths, const Options &options,
                                              function_ref<InFlightDiagnostic()> emitError) {
  MaskAnalysis analysis;
  analysis.region = &region;
  analysis.options = options;
  if (region.empty()) {
    analysis.reading.predicate = MaskPredicate::constant(true);
  } else {
    FailureOr<MaskReading> reading = readMaskRegion(region, lengths, emitError);
    if (failed(reading))
      return failure();
    analysis.reading = std::move(*reading);
  }
  TileProblem &problem = analysis.problem;
  problem.context = region.getContext();
  problem.mask = analysis.reading.predicate;
  problem.numOperands = analysis.reading.operands.size();
  problem.queryTile = options.queryTile;
  problem.keyTile = options.keyTile;
  problem.sq = lengths.sq;
  problem.sk = lengths.sk;
  problem.facts = analysis.reading.facts;
  if (options.keyOuter)
    problem = transposed(problem);
  analysis.classifyOperands();
  analysis.bounds = computeMaskBounds(problem);
  if (mayOverflow(analysis.bounds))
    analysis.fallBack("the bounds could overflow 64 bits: every tile is visited");
  else if (options.proof && proveMaskBounds(problem, analysis.bounds, *options.proof) != ProofResult::Proved)
    analysis.fallBack("the bounds were not proved: every tile is visited");
  if (!analysis.bounds.visibleExact)
    analysis.test = computeTileTest(problem);
  return analysis;
}

void MaskAnalysis::fallBack(std::string note) {
  bounds = MaskBounds::everyTile(problem, std::move(note));
  fallback = true;
}

bool MaskAnalysis::wantsTest() const {
  return !bounds.visibleExact && !test.visible.empty() && !test.isTrivial() && test.size() <= kMaxTestSize;
}

/// Operands of 64 bits that a comparison holds: how many, and whether each stands alone in it, outside
/// divisions, beside terms that its limit outweighs.
static void classifyAtom(AffineExpr atom, const llvm::SmallBitVector &wide, llvm::SmallBitVector &check) {
  llvm::SmallBitVector present(wide.size()), divided(wide.size());
  atom.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (symbol && wide.test(symbol.getPosition()))
      present.set(symbol.getPosition());
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    if (!binary || binary.getKind() == AffineExprKind::Add || binary.getKind() == AffineExprKind::Mul)
      return;
    binary.getLHS().walk([&](AffineExpr inner) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(inner))
        divided.set(symbol.getPosition());
    });
  });
  if (present.none())
    return;
  SmallVector<AffineExpr> zeros;
  for (unsigned position = 0; position < wide.size(); ++position)
    zeros.push_back(wide.test(position) ? getAffineConstantExpr(0, atom.getContext())
                                        : getAffineSymbolExpr(position, atom.getContext()));
  bool outweighed = affineMagnitude(atom.replaceSymbols(zeros)) < kMaxOperand;
  if (present.count() > 1 || present.anyCommon(divided) || !outweighed)
    check |= present;
}

static void classify(const MaskPredicate &predicate, const llvm::SmallBitVector &wide, llvm::SmallBitVector &check) {
  if (AffineExpr atom = predicate.expr())
    classifyAtom(atom, wide, check);
  for (const MaskPredicate &operand : predicate.operands())
    classify(operand, wide, check);
}

/// A bare operand compared with something below its limit keeps its truth when it is clamped to the limit (a length
/// of INT64_MAX stays unlimited). Otherwise the operand is checked when the kernel runs.
void MaskAnalysis::classifyOperands() {
  llvm::SmallBitVector wide(kFirstMaskOperand + problem.numOperands), check(wide.size());
  for (auto [position, operand] : llvm::enumerate(reading.operands)) {
    if (!operand.getType().isIndex() && operand.getType().getIntOrFloatBitWidth() <= 32)
      continue;
    wide.set(kFirstMaskOperand + position);
    if (reading.calculatedWith[position])
      check.set(kFirstMaskOperand + position);
  }
  classify(problem.mask, wide, check);
  for (unsigned position = kFirstMaskOperand; position < wide.size(); ++position)
    safety.push_back(!wide.test(position) ? Safety::Narrow : check.test(position) ? Safety::Check : Safety::Clamp);
}

SmallVector<std::string> MaskAnalysis::symbolNames() const {
  SmallVector<std::string> names = {"i", "qLast", "Sq", "Sk"};
  if (options.keyOuter)
    names = {"j", "kLast", "Sk", "Sq"};
  for (unsigned position = 0; position < problem.numOperands; ++position)
    names.push_back("s" + std::to_string(position));
  return names;
}

static StringRef describeOperand(Value operand) {
  if (Operation *op = operand.getDefiningOp())
    return op->getName().getStringRef();
  return "an argument";
}

std::string MaskAnalysis::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  SmallVector<std::string> names = symbolNames();
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  bounds.print(bodyStream, names);
  if (options.keyOuter)
    os << "query" << StringRef(body).drop_front(3);
  else
    os << body;
  if (StringRef(body).contains(names[kQueryLast])) {
    os << ", where " << names[kQueryLast] << " = min(" << problem.queryTile << " * " << names[kQueryTile] << " + "
       << problem.queryTile - 1 << ", " << names[kTileSq] << " - 1)";
  }
  for (auto [position, operand] : llvm::enumerate(reading.operands))
    os << (position ? ", " : "; ") << names[kFirstTileOperand + position] << " from " << describeOperand(operand);
  return text;
}
