// Reading of mask regions: known forms, random arithmetic against constant folding, and refusals.
#include "fa/Analysis/MaskRegion.h"
#include "FoldingInterpreter.h"
#include "FullSweep.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {
class MaskRegionTest : public testing::Test {
protected:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string errors;

  MaskRegionTest() {
    context.loadDialect<FADialect, arith::ArithDialect, func::FuncDialect, memref::MemRefDialect, affine::AffineDialect,
                        scf::SCFDialect>();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      errors += diagnostic.str() + "\n";
      for (Diagnostic &note : diagnostic.getNotes())
        errors += note.str() + "\n";
    });
  }

  /// The attention of a function with lengths `?` and the captures of the tests.
  AttentionOp parse(StringRef body) {
    std::string text = R"(
      func.func @f(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>,
                   %lens: memref<?xi32>, %doc: memref<?xi32>, %w: index, %flag: memref<?xi1>, %x: i64, %f: f32) {
        %c0 = arith.constant 0 : index
        %c2 = arith.constant 2 : index
        %sq = memref.dim %q, %c2 : memref<?x?x?x8xf32>
        %sk = memref.dim %k, %c2 : memref<?x?x?x8xf32>
        fa.attention ins(%q, %k, %k : memref<?x?x?x8xf32>, memref<?x?x?x8xf32>, memref<?x?x?x8xf32>)
            outs(%o : memref<?x?x?x8xf32>) mask (%b: index, %h: index, %i: index, %j: index) {)" +
                       body.str() + R"(
          fa.yield %r : i1
        }
        return
      })";
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context, /*verifyAfterParse=*/true));
    AttentionOp attention;
    if (module)
      module->walk([&](AttentionOp op) { attention = op; });
    return attention;
  }

  MaskReading read(StringRef body) {
    AttentionOp attention = parse(body);
    EXPECT_TRUE(attention) << errors << body.str();
    MaskLengths lengths;
    lengths.queryBuffers = {attention.getQuery()};
    lengths.keyBuffers = {attention.getKey()};
    FailureOr<MaskReading> reading =
        readMaskRegion(attention.getMask(), lengths, [&] { return attention.emitError(); });
    EXPECT_TRUE(succeeded(reading));
    return std::move(*reading);
  }

  std::string print(const MaskReading &reading) {
    std::string text;
    llvm::raw_string_ostream os(text);
    reading.predicate.print(os);
    return text;
  }
};
} // namespace

TEST_F(MaskRegionTest, CausalBottomRightNamesTheLengths) {
  MaskReading reading = read(R"(
    %off = arith.subi %sk, %sq : index
    %p = arith.addi %i, %off : index
    %r = arith.cmpi sle, %j, %p : index)");
  EXPECT_EQ(print(reading), "d0 + s1 - s0 - d1 >= 0");
  EXPECT_TRUE(reading.operands.empty());
  EXPECT_TRUE(reading.unread.empty());
}

TEST_F(MaskRegionTest, ValuesIndependentOfThePairAreOperands) {
  MaskReading reading = read(R"(
    %l = memref.load %lens[%b] : memref<?xi32>
    %p = arith.index_cast %l : i32 to index
    %in = arith.cmpi slt, %j, %p : index
    %c = arith.cmpi sle, %j, %w : index
    %r = arith.andi %in, %c : i1)");
  EXPECT_EQ(print(reading), "(-(d1 + 1) + s2 >= 0 and -d1 + s3 >= 0)");
  ASSERT_EQ(reading.operands.size(), 2u);
  EXPECT_TRUE(reading.operands[0].getType().isInteger(32));
}

/// Rejected readings leave no operand behind: i * w is not affine.
TEST_F(MaskRegionTest, ProductOfPositionAndOperandIsUnknown) {
  MaskReading reading = read(R"(
    %x0 = arith.muli %i, %w : index
    %r = arith.cmpi sle, %j, %x0 : index)");
  EXPECT_EQ(print(reading), "?");
  EXPECT_TRUE(reading.operands.empty());
  ASSERT_EQ(reading.unread.size(), 1u);
  EXPECT_EQ(reading.unread[0].reason, "a side of this comparison is not affine in the query and key position");
}

/// Data that depends on a position keeps the rest of the mask.
TEST_F(MaskRegionTest, DocumentsAndCausal) {
  MaskReading reading = read(R"(
    %x0 = memref.load %doc[%i] : memref<?xi32>
    %y0 = memref.load %doc[%j] : memref<?xi32>
    %e = arith.cmpi eq, %x0, %y0 : i32
    %c = arith.cmpi sle, %j, %i : index
    %r = arith.andi %e, %c : i1)");
  EXPECT_EQ(print(reading), "(? and d0 - d1 >= 0)");
  EXPECT_TRUE(reading.operands.empty()); // a load that varies with a position is no operand
  EXPECT_EQ(reading.unread.size(), 1u);
}

/// A condition on b or h alone is a symbol that is 0 or 1.
TEST_F(MaskRegionTest, FlagPerHead) {
  MaskReading reading = read(R"(
    %causal = memref.load %flag[%h] : memref<?xi1>
    %c = arith.cmpi sle, %j, %i : index
    %t = arith.constant true
    %r = arith.select %causal, %c, %t : i1)");
  EXPECT_EQ(print(reading), "(-(s2 - 1) - 1 >= 0 or d0 - d1 >= 0)");
  EXPECT_EQ(reading.facts.size(), 2u);
}

TEST_F(MaskRegionTest, OpaqueConditionOfNoPositionIsAFlag) {
  MaskReading reading = read(R"(
    %zero = arith.constant 0.0 : f32
    %on = arith.cmpf olt, %f, %zero : f32
    %c = arith.cmpi sle, %j, %i : index
    %r = arith.ori %on, %c : i1)");
  EXPECT_EQ(print(reading), "(s2 - 1 >= 0 or d0 - d1 >= 0)");
  EXPECT_TRUE(reading.unread.empty());
}

/// i32 arithmetic that may wrap is not read; index arithmetic and promises are.
TEST_F(MaskRegionTest, OverflowIsRefusedWithTheReason) {
  StringRef form = R"(
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %c = arith.constant 1000 : i32
    %x0 = arith.muli %i32, %c OVERFLOW : i32
    %r = arith.cmpi sle, %j32, %x0 : i32)";
  std::string wraps = form.str(), promised = form.str();
  wraps.replace(wraps.find("OVERFLOW"), 8, "");
  promised.replace(promised.find("OVERFLOW"), 8, "overflow<nsw>");
  MaskReading reading = read(wraps);
  EXPECT_EQ(print(reading), "?");
  ASSERT_FALSE(reading.unread.empty());
  EXPECT_EQ(reading.unread[0].reason,
            "'arith.muli' may overflow its type at these lengths: compute in index, or promise overflow<nsw>");
  EXPECT_EQ(print(read(promised)), "d0 * 1000 - d1 >= 0");
}

TEST_F(MaskRegionTest, HugeConstantsAreNotAffine) {
  MaskReading reading = read(R"(
    %c = arith.constant 4611686018427387900 : index
    %x0 = arith.subi %i, %c : index
    %r = arith.cmpi slt, %x0, %j : index)");
  EXPECT_EQ(print(reading), "?");
  EXPECT_FALSE(reading.unread.empty());
}

/// A chain of xor doubles at every link: it ends as unknown, at once.
TEST_F(MaskRegionTest, ChainsOfXorAreBounded) {
  std::string body = "%x0 = arith.cmpi sle, %j, %i : index\n";
  for (int n = 1; n < 60; ++n)
    body += "%m" + std::to_string(n) + " = arith.constant " + std::to_string(n) + " : index\n%y" + std::to_string(n) +
            " = arith.cmpi sle, %j, %m" + std::to_string(n) + " : index\n%x" + std::to_string(n) + " = arith.xori %x" +
            std::to_string(n - 1) + ", %y" + std::to_string(n) + " : i1\n";
  body += "%r = arith.xori %x59, %x0 : i1";
  MaskReading reading = read(body);
  EXPECT_TRUE(reading.predicate.hasUnknown());
  EXPECT_FALSE(reading.unread.empty());
}

TEST_F(MaskRegionTest, DeepNestingIsBounded) {
  std::string body = "%x0 = arith.addi %i, %c0 : index\n";
  for (int n = 1; n < 20000; ++n)
    body += "%x" + std::to_string(n) + " = arith.addi %x" + std::to_string(n - 1) + ", %c0 : index\n";
  body += "%r = arith.cmpi sle, %j, %x19999 : index";
  EXPECT_EQ(print(read(body)), "?");
}

TEST_F(MaskRegionTest, RefusesRegionsThatAreNoMasks) {
  AttentionOp attention = parse("%r = arith.cmpi sle, %j, %i : index");
  Region &region = attention.getMask();
  auto refused = [&](StringRef message) {
    errors.clear();
    EXPECT_TRUE(failed(readMaskRegion(region, {}, [&] { return attention.emitError(); })));
    EXPECT_NE(errors.find(message.str()), std::string::npos) << errors;
  };
  OpBuilder builder(&context);
  builder.setInsertionPointToStart(&region.front());
  Value length = arith::ConstantIndexOp::create(builder, attention.getLoc(), 4);
  auto alloc = memref::AllocOp::create(builder, attention.getLoc(),
                                       MemRefType::get({ShapedType::kDynamic}, builder.getIndexType()), length);
  refused("expected a mask region without side effects, but got 'memref.alloc'");
  alloc.erase();
  auto yield = cast<mlir::fa::YieldOp>(region.front().getTerminator());
  yield.getValueMutable().assign(length);
  refused("expected the mask region to yield one i1");
  region.front().addArgument(builder.getIndexType(), attention.getLoc());
  refused("expected a mask region with the arguments (index, index, index, index)");
}

namespace {
/// Random integer and boolean arithmetic over i and j in index, i32 and i8 (where it wraps).
class RandomMask {
public:
  RandomMask(OpBuilder &builder, Block &block, unsigned seed)
      : builder(builder), loc(builder.getUnknownLoc()), random(seed) {
    integers = {block.getArgument(2), block.getArgument(3)};
    for (int n = 0; n < 3; ++n)
      integers.push_back(constant(builder.getIndexType(), pick(-6, 12)));
  }

  Value build() {
    for (int n = pick(2, 8); n > 0; --n)
      integers.push_back(integer());
    std::vector<Value> booleans;
    for (int n = pick(1, 4); n > 0; --n)
      booleans.push_back(comparison());
    for (int n = pick(0, 3); n > 0; --n)
      booleans.push_back(connective(any(booleans), any(booleans), any(booleans)));
    return booleans.back();
  }

private:
  OpBuilder &builder;
  Location loc;
  std::mt19937 random;
  std::vector<Value> integers;

  int64_t pick(int64_t low, int64_t high) { return low + random() % (high - low + 1); }
  Value any(const std::vector<Value> &values) { return values[pick(0, values.size() - 1)]; }
  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value castTo(Value value, Type type) {
    if (value.getType() == type)
      return value;
    if (value.getType().isIndex() || type.isIndex())
      return arith::IndexCastOp::create(builder, loc, type, value);
    if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
      return pick(0, 3) ? arith::ExtSIOp::create(builder, loc, type, value).getResult()
                        : arith::ExtUIOp::create(builder, loc, type, value).getResult();
    return arith::TruncIOp::create(builder, loc, type, value);
  }
  Type type() {
    return std::array<Type, 4>{builder.getIndexType(), builder.getIndexType(), builder.getI32Type(),
                               builder.getI8Type()}[pick(0, 3)];
  }

  Value integer() {
    Type t = type();
    Value x = castTo(any(integers), t), y = castTo(any(integers), t), divisor = constant(t, pick(1, 7));
    switch (pick(0, 16)) {
    case 0:
    case 1:
      return arith::AddIOp::create(builder, loc, x, y);
    case 2:
    case 3:
      return arith::SubIOp::create(builder, loc, x, y);
    case 4:
      return arith::MulIOp::create(builder, loc, x, constant(t, pick(-3, 5)));
    case 5:
      return arith::DivSIOp::create(builder, loc, x, divisor);
    case 6:
      return arith::DivUIOp::create(builder, loc, x, divisor);
    case 7:
      return arith::RemSIOp::create(builder, loc, x, divisor);
    case 8:
      return arith::RemUIOp::create(builder, loc, x, divisor);
    case 9:
      return arith::FloorDivSIOp::create(builder, loc, x, divisor);
    case 10:
      return arith::CeilDivSIOp::create(builder, loc, x, divisor);
    case 11:
      return arith::MinSIOp::create(builder, loc, x, y);
    case 12:
      return arith::MaxUIOp::create(builder, loc, x, y);
    case 13:
      return arith::ShRSIOp::create(builder, loc, x, constant(t, pick(0, 3)));
    case 14:
      return arith::ShLIOp::create(builder, loc, x, constant(t, pick(0, 3)));
    case 15:
      return arith::AndIOp::create(builder, loc, x, constant(t, (1 << pick(0, 3)) - 1));
    default:
      return arith::SelectOp::create(builder, loc, comparison(), x, y);
    }
  }
  Value comparison() {
    Type t = type();
    return arith::CmpIOp::create(builder, loc, static_cast<arith::CmpIPredicate>(pick(0, 9)), castTo(any(integers), t),
                                 castTo(any(integers), t));
  }
  Value connective(Value a, Value b, Value c) {
    switch (pick(0, 3)) {
    case 0:
      return arith::AndIOp::create(builder, loc, a, b);
    case 1:
      return arith::OrIOp::create(builder, loc, a, b);
    case 2:
      return arith::XOrIOp::create(builder, loc, a, b);
    default:
      return arith::SelectOp::create(builder, loc, a, b, c);
    }
  }
};
} // namespace

/// What is read is what folding computes, for every pair; only `unknown` may stand in for it.
TEST_F(MaskRegionTest, RandomArithmeticIsReadExactlyOrNotAtAll) {
  const int count = ::fa::test::fullSweep() ? 4000 : 150;
  long known = 0, compared = 0;
  for (int seed = 0; seed < count; ++seed) {
    AttentionOp attention = parse("%r = arith.constant true");
    Region &region = attention.getMask();
    OpBuilder builder(region.front().getTerminator());
    region.front().getTerminator()->setOperand(0, RandomMask(builder, region.front(), seed).build());
    MaskLengths lengths;
    lengths.sq = 9;
    lengths.sk = 11;
    FailureOr<MaskReading> reading = readMaskRegion(region, lengths, [&] { return attention.emitError(); });
    ASSERT_TRUE(succeeded(reading)) << errors;
    EXPECT_TRUE(!reading->predicate.hasUnknown() || !reading->unread.empty());
    for (int64_t i = 0; i < *lengths.sq; ++i)
      for (int64_t j = 0; j < *lengths.sk; ++j) {
        ::fa::test::Folded values = ::fa::test::foldRegion(region, {0, 0, i, j});
        std::optional<int64_t> folded = ::fa::test::integerOf(values, region.front().getTerminator()->getOperand(0));
        SmallVector<int64_t> symbols = {*lengths.sq, *lengths.sk};
        for (Value operand : reading->operands)
          if (std::optional<int64_t> value = ::fa::test::integerOf(values, operand);
              value && std::abs(*value) <= kMaxOperand)
            symbols.push_back(*value);
        if (!folded || symbols.size() != 2 + reading->operands.size())
          continue;
        ++compared;
        Truth truth = reading->predicate.evaluate(i, j, symbols);
        known += truth != Truth::Unknown;
        if (truth != Truth::Unknown && (truth == Truth::True) != (*folded != 0)) {
          region.getParentOp()->dump();
          FAIL() << "seed " << seed << ": at (" << i << ", " << j << ") folded to " << *folded << ", read as "
                 << print(*reading);
        }
      }
  }
  EXPECT_GT(compared, count * 50L);
  EXPECT_GT(known, compared / 2); // most of it is read
  RecordProperty("pairs", std::to_string(compared));
  RecordProperty("known", std::to_string(known));
}
