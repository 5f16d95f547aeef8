// Named masks and schedules: predicates, verification, assembly.
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::fa;

/// Position of query i among the keys: i, or i + (Sk - Sq) for the bottom-right corner.
static Value alignedQuery(OpBuilder &builder, Location loc, Corner corner, Value i, Value seqQ, Value seqKv) {
  if (corner == Corner::TopLeft)
    return i;
  Value offset = builder.createOrFold<arith::SubIOp>(loc, seqKv, seqQ);
  return builder.createOrFold<arith::AddIOp>(loc, i, offset);
}

static int64_t alignedQuery(Corner corner, int64_t i, int64_t seqQ, int64_t seqKv) {
  return corner == Corner::TopLeft ? i : i + seqKv - seqQ;
}

//===----------------------------------------------------------------------===//
// Causal
//===----------------------------------------------------------------------===//

Value CausalAttr::buildPredicate(OpBuilder &builder, Location loc, Value i, Value j, Value seqQ, Value seqKv) const {
  Value last = alignedQuery(builder, loc, getCorner(), i, seqQ, seqKv);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, j, last);
}

bool CausalAttr::visible(int64_t i, int64_t j, int64_t seqQ, int64_t seqKv) const {
  return j <= alignedQuery(getCorner(), i, seqQ, seqKv);
}

//===----------------------------------------------------------------------===//
// Window
//===----------------------------------------------------------------------===//

Value WindowAttr::buildPredicate(OpBuilder &builder, Location loc, Value i, Value j, Value seqQ, Value seqKv) const {
  Value center = alignedQuery(builder, loc, getCorner(), i, seqQ, seqKv);
  Value visible;
  auto bound = [&](arith::CmpIPredicate predicate, int64_t distance) {
    Value edge =
        builder.createOrFold<arith::AddIOp>(loc, center, arith::ConstantIndexOp::create(builder, loc, distance));
    Value inside = arith::CmpIOp::create(builder, loc, predicate, j, edge);
    visible = visible ? arith::AndIOp::create(builder, loc, visible, inside).getResult() : inside;
  };
  if (getLeft())
    bound(arith::CmpIPredicate::sge, -*getLeft());
  if (getRight())
    bound(arith::CmpIPredicate::sle, *getRight());
  return visible ? visible : arith::ConstantIntOp::create(builder, loc, 1, 1).getResult();
}

bool WindowAttr::visible(int64_t i, int64_t j, int64_t seqQ, int64_t seqKv) const {
  int64_t center = alignedQuery(getCorner(), i, seqQ, seqKv);
  return (!getLeft() || j >= center - *getLeft()) && (!getRight() || j <= center + *getRight());
}

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, std::optional<int64_t> left,
                                 std::optional<int64_t> right, Corner corner) {
  for (auto [name, bound] : {std::pair("left", left), std::pair("right", right)}) {
    if (bound && *bound < 0)
      return emitError() << "expected window bound '" << name << "' to be at least 0, or `none` for unlimited, but got "
                         << *bound;
    if (bound && *bound > (int64_t(1) << 40))
      return emitError() << "expected window bound '" << name
                         << "' to be at most 2^40, or `none` for unlimited, but got " << *bound;
  }
  return success();
}

static ParseResult parseBound(AsmParser &parser, StringRef name, std::optional<int64_t> &bound) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    bound = std::nullopt;
    return success();
  }
  int64_t value = 0;
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult result = parser.parseOptionalInteger(value);
  if (!result.has_value() || failed(*result))
    return parser.emitError(loc, "expected an integer or `none` for unlimited");
  bound = value;
  return success();
}

Attribute WindowAttr::parse(AsmParser &parser, Type) {
  std::optional<int64_t> left, right;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseBound(parser, "left", left) || parser.parseComma() ||
      parseBound(parser, "right", right) || parser.parseComma())
    return {};
  FailureOr<Corner> corner = FieldParser<Corner>::parse(parser);
  if (failed(corner) || parser.parseGreater())
    return {};
  return parser.getChecked<WindowAttr>(loc, parser.getContext(), left, right, *corner);
}

void WindowAttr::print(AsmPrinter &printer) const {
  auto printBound = [&](StringRef name, std::optional<int64_t> bound) {
    printer << name << " = ";
    if (bound)
      printer << *bound;
    else
      printer << "none";
    printer << ", ";
  };
  printer << "<";
  printBound("left", getLeft());
  printBound("right", getRight());
  printer << stringifyCorner(getCorner()) << ">";
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

StringRef CPUAttr::getTargetName() const { return "cpu"; }
StringRef HopperAttr::getTargetName() const { return "sm_90a"; }

LogicalResult HopperAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, int64_t warpgroups,
                                 bool overlap, bool pingPong, bool persistent, bool schedulingFence, int64_t unroll,
                                 bool heavyFirst) {
  if (warpgroups < 1 || warpgroups > 3)
    return emitError() << "expected 1 to 3 consumer warpgroups, but got " << warpgroups;
  if (stages < 1)
    return emitError() << "expected at least 1 stage, but got " << stages;
  if (unroll != 1 && unroll != 2)
    return emitError() << "expected unroll to be 1 or 2, but got " << unroll;
  if (unroll == 2 && !overlap)
    return emitError() << "expected unroll = 1 without overlap (no product runs under the softmax), but got 2";
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t tileQ, int64_t tileKv,
                                   LoopOrder order, int64_t splitKv, TargetAttrInterface target) {
  for (auto [name, size] : {std::pair("tile_q", tileQ), std::pair("tile_kv", tileKv)})
    if (size < 1 || size > 65536)
      return emitError() << "expected " << name << " between 1 and 65536, but got " << size;
  if (splitKv < 1 || splitKv > 65536)
    return emitError() << "expected split_kv between 1 and 65536, but got " << splitKv;
  if (splitKv > 1 && order == LoopOrder::KeyOuter)
    return emitError() << "expected split_kv = 1 for order = key_outer, but got " << splitKv;
  if (splitKv > 1 && isa_and_nonnull<HopperAttr>(target))
    return emitError() << "expected split_kv = 1 for target #fa.hopper, but got " << splitKv
                       << "; only CPUs join parts of the keys";
  auto cpu = dyn_cast_if_present<CPUAttr>(target);
  if (cpu && cpu.getLanes() == Lanes::Depth && tileQ > CPUAttr::maxRowsOfDepthLanes)
    return emitError() << "expected tile_q of at most " << CPUAttr::maxRowsOfDepthLanes
                       << " for lanes = depth, but got " << tileQ << "; use lanes = query";
  if (order == LoopOrder::KeyOuter && isa_and_nonnull<HopperAttr>(target))
    return emitError() << "expected order = query_outer for target #fa.hopper, but got key_outer";
  if (auto hopper = dyn_cast_if_present<HopperAttr>(target)) {
    if (tileQ != 64 * hopper.getWarpgroups())
      return emitError() << "expected tile_q = 64 * warpgroups = " << 64 * hopper.getWarpgroups() << ", but got "
                         << tileQ;
  }
  return success();
}
