// Elimination of one variable after another. Each inexact or dropped pair enlarges the result: sound for
// "which tiles may hold a visible pair" and for "which tiles may hold a hidden one" alike.
#include "FourierMotzkin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;
using Row = FourierMotzkin::Row;

static constexpr unsigned kMaxRows = 64;
static constexpr unsigned kMaxRoundings = 16;
/// Coefficients beyond this make symbolPart's expressions too large to be flattened again.
static constexpr int64_t kMaxCoefficient = int64_t(1) << 52;

/// a x + b y, or nothing when a coefficient leaves the range.
static std::optional<Row> linearSum(int64_t a, ArrayRef<int64_t> x, int64_t b, ArrayRef<int64_t> y) {
  Row sum(x.size());
  for (auto [out, u, v] : llvm::zip_equal(sum, x, y)) {
    int64_t left, right;
    if (llvm::MulOverflow(a, u, left) || llvm::MulOverflow(b, v, right) || llvm::AddOverflow(left, right, out) ||
        out > kMaxCoefficient || out < -kMaxCoefficient)
      return std::nullopt;
  }
  return sum;
}

static Row negated(Row row) {
  for (int64_t &c : row)
    c = -c;
  return row;
}

/// Divides an inequality by the common factor of its variables and symbols; the constant rounds down.
static void tighten(Row &row) {
  int64_t factor = 0;
  for (int64_t c : ArrayRef(row).drop_back())
    factor = std::gcd(factor, c);
  if (factor <= 1)
    return;
  for (int64_t &c : MutableArrayRef(row).drop_back())
    c /= factor;
  row.back() = llvm::divideFloorSigned(row.back(), factor);
}

/// Of rows that differ only in the constant, the tightest is kept.
static void addTightest(std::vector<Row> &rows, Row row) {
  for (Row &other : rows)
    if (ArrayRef(other).drop_back() == ArrayRef(row).drop_back()) {
      other.back() = std::min(other.back(), row.back());
      return;
    }
  rows.push_back(std::move(row));
}

AffineExpr FourierMotzkin::symbolPart(ArrayRef<int64_t> row, int64_t factor, int64_t offset) const {
  AffineExpr sum = getAffineConstantExpr(0, symbols.front().getContext());
  for (auto [position, symbol] : llvm::enumerate(symbols))
    if (int64_t c = row[numVariables + position])
      sum = sum + symbol * (factor * c);
  return sum + (factor * row.back() + offset);
}

bool FourierMotzkin::hasOnlySymbols(ArrayRef<int64_t> row, unsigned except) const {
  for (unsigned v = 0; v < numVariables; ++v)
    if (v != except && row[v] != 0)
      return false;
  return true;
}

unsigned FourierMotzkin::symbolColumn(AffineExpr expr) {
  auto it = llvm::find(symbols, expr);
  unsigned column = numVariables + std::distance(symbols.begin(), it);
  if (it != symbols.end())
    return column;
  symbols.push_back(expr);
  for (std::vector<Row> *rows : {&inequalities, &equalities})
    for (Row &row : *rows)
      row.insert(row.begin() + column, 0);
  return column;
}

/// Exact: uses an equality in which the variable has coefficient 1 or -1.
bool FourierMotzkin::substituteEquality(unsigned variable) {
  auto it = llvm::find_if(equalities, [&](const Row &row) { return std::abs(row[variable]) == 1; });
  if (it == equalities.end())
    return false;
  Row definition = std::move(*it);
  equalities.erase(it);
  for (std::vector<Row> *rows : {&inequalities, &equalities}) {
    std::vector<Row> kept;
    for (Row &row : *rows) {
      std::optional<Row> sum = row;
      if (row[variable] != 0)
        sum = linearSum(1, row, -row[variable] * definition[variable], definition);
      if (sum)
        kept.push_back(std::move(*sum));
      else
        exact = false;
    }
    *rows = std::move(kept);
  }
  return true;
}

void FourierMotzkin::splitEqualities(unsigned variable) {
  std::vector<Row> kept;
  for (Row &row : equalities) {
    if (row[variable] == 0) {
      kept.push_back(std::move(row));
      continue;
    }
    inequalities.push_back(row);
    inequalities.push_back(negated(std::move(row)));
  }
  equalities = std::move(kept);
}

/// a v + rest >= 0 with a > 1 and rest over symbols alone becomes v >= floor((a - 1 - rest) / a), and
/// likewise from above: the rounded bound is a new symbol, and the coefficient 1.
void FourierMotzkin::roundSymbolicBounds(unsigned variable) {
  for (unsigned r = 0; r < inequalities.size(); ++r) {
    int64_t a = inequalities[r][variable];
    if (std::abs(a) <= 1 || !hasOnlySymbols(inequalities[r], variable) || roundings >= kMaxRoundings)
      continue;
    AffineExpr rounded =
        a > 0 ? symbolPart(inequalities[r], -1, a - 1).floorDiv(a) : symbolPart(inequalities[r]).floorDiv(-a);
    int64_t sign = a > 0 ? 1 : -1;
    auto value = dyn_cast<AffineConstantExpr>(rounded);
    unsigned column = 0;
    if (!value) {
      ++roundings;
      column = symbolColumn(rounded);
    }
    Row row(numVariables + symbols.size() + 1, 0);
    row[variable] = sign;
    if (value)
      row.back() = -sign * value.getValue();
    else
      row[column] = -sign;
    inequalities[r] = std::move(row);
  }
}

/// The shadow of lower: a v >= A and upper: b v <= B is a B - b A >= 0. It is exact over the integers if
/// a = 1 or b = 1; and if a = b and B - A >= a - 1 always, some multiple of a lies between: no constraint.
void FourierMotzkin::combine(const Row &lower, const Row &upper, unsigned variable, std::vector<Row> &out) {
  int64_t a = lower[variable], b = -upper[variable], multiple;
  if (llvm::MulOverflow(a / std::gcd(a, b), b, multiple)) {
    exact = false;
    return;
  }
  std::optional<Row> sum = linearSum(multiple / a, lower, multiple / b, upper);
  if (!sum) {
    exact = false;
    return;
  }
  bool constant = llvm::all_of(ArrayRef(*sum).drop_back(), [](int64_t c) { return c == 0; });
  if (a > 1 && b > 1) {
    if (a == b && constant && sum->back() >= a - 1)
      return;
    if (a == b && !constant && hasOnlySymbols(*sum, variable) && implied(symbolPart(*sum) - (a - 1)))
      return;
    exact = false;
  }
  if (constant && sum->back() >= 0)
    return;
  tighten(*sum);
  addTightest(out, std::move(*sum));
}

/// Leaves out the heaviest rows: the result grows, and elimination stays polynomial.
void FourierMotzkin::limitRows() {
  if (inequalities.size() <= kMaxRows)
    return;
  auto weight = [](const Row &row) {
    double sum = 0;
    for (int64_t c : row)
      sum += std::abs(static_cast<double>(c));
    return sum;
  };
  llvm::stable_sort(inequalities, [&](const Row &x, const Row &y) { return weight(x) < weight(y); });
  inequalities.resize(kMaxRows);
  exact = false;
}

void FourierMotzkin::eliminate(unsigned variable) {
  if (substituteEquality(variable))
    return;
  splitEqualities(variable);
  for (Row &row : inequalities)
    tighten(row);
  roundSymbolicBounds(variable);
  std::vector<Row> out, lower, upper;
  for (Row &row : inequalities)
    (row[variable] > 0 ? lower : row[variable] < 0 ? upper : out).push_back(std::move(row));
  for (const Row &l : lower)
    for (const Row &u : upper)
      combine(l, u, variable, out);
  inequalities = std::move(out);
  limitRows();
}

long FourierMotzkin::cost(unsigned variable) const {
  if (llvm::any_of(equalities, [&](const Row &row) { return std::abs(row[variable]) == 1; }))
    return -1;
  long lower = llvm::count_if(inequalities, [&](const Row &row) { return row[variable] > 0; });
  long upper = llvm::count_if(inequalities, [&](const Row &row) { return row[variable] < 0; });
  return lower * upper - lower - upper;
}

void FourierMotzkin::eliminateRange(unsigned first, unsigned last) {
  SmallVector<unsigned> remaining = llvm::to_vector(llvm::seq(first, last));
  while (!remaining.empty()) {
    auto cheapest = llvm::min_element(remaining, [&](unsigned x, unsigned y) { return cost(x) < cost(y); });
    eliminate(*cheapest);
    remaining.erase(cheapest);
  }
}

std::vector<Row> FourierMotzkin::takeInequalities() {
  for (Row &row : equalities) {
    inequalities.push_back(row);
    inequalities.push_back(negated(std::move(row)));
  }
  equalities.clear();
  for (Row &row : inequalities)
    tighten(row);
  return std::move(inequalities);
}
