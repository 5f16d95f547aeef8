// Puts counters into kernels. Each block has counters of its own, so that blocks may run at the same time.
#include "TileCensus.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include <algorithm>
#include <numeric>

namespace fa::execution {
namespace {
namespace arith = mlir::arith;
namespace func = mlir::func;
namespace memref = mlir::memref;

constexpr const char *censusName = "fa_census";

/// counters[block, full ? 1 : 0] += 1
void count(mlir::fa::StepOp step, mlir::Value counters, mlir::Value block) {
  mlir::OpBuilder builder(step);
  mlir::Location loc = step.getLoc();
  mlir::Value column = arith::ConstantIndexOp::create(builder, loc, step.getFull() ? 1 : 0);
  mlir::Value one = arith::ConstantIntOp::create(builder, loc, 1, 64);
  mlir::Value old = memref::LoadOp::create(builder, loc, counters, mlir::ValueRange{block, column});
  mlir::Value sum = arith::AddIOp::create(builder, loc, old, one);
  memref::StoreOp::create(builder, loc, sum, counters, mlir::ValueRange{block, column});
  step.getResult().replaceAllUsesWith(step.getState());
  step.erase();
}

/// Appends an argument named censusName to a function.
mlir::Value addArgument(func::FuncOp function, mlir::Type type) {
  const unsigned position = function.getNumArguments();
  auto name = mlir::StringAttr::get(function.getContext(), censusName);
  mlir::NamedAttrList attributes;
  attributes.set(mlir::fa::nameAttrName, name);
  if (mlir::failed(
          function.insertArgument(position, type, attributes.getDictionary(function.getContext()), function.getLoc())))
    return {};
  return function.getArgument(position);
}
} // namespace

Expected<std::unique_ptr<TileCensus>> TileCensus::compile(mlir::ModuleOp kernels, const Program &program,
                                                          unsigned threads) {
  mlir::fa::AttentionOp attention = program.attention();
  auto nameOf = [&](mlir::Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    return argument ? program.arguments()[argument.getArgNumber()].name : std::string();
  };
  auto result = std::make_unique<TileCensus>();
  if (attention) {
    result->query = nameOf(attention.getQuery());
    result->key = nameOf(attention.getKey());
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = kernels.clone();
  auto entry = module->lookupSymbol<func::FuncOp>(program.function().getName());
  if (result->query.empty() || result->key.empty() || !holdsLaunchesOnly(entry))
    return std::unique_ptr<TileCensus>();
  mlir::OpBuilder builder(module->getContext());
  constexpr int64_t dynamic = mlir::ShapedType::kDynamic;
  auto type = mlir::MemRefType::get({dynamic, 2}, builder.getI64Type());
  mlir::Value hostCounters = addArgument(entry, type);
  for (auto launch : llvm::to_vector(entry.getOps<mlir::fa::LaunchOp>())) {
    auto kernel = module->lookupSymbol<func::FuncOp>(launch.getKernel());
    mlir::Value counters = addArgument(kernel, type);
    kernel.walk([&](mlir::fa::StepOp step) {
      result->tileQ = step.getState().getType().getRows();
      result->tileKv = static_cast<int64_t>(step.getTileKv());
    });
    kernel.walk([&](mlir::fa::StepOp step) { count(step, counters, kernel.getArgument(0)); });
    launch.getArgsMutable().append(hostCounters);
  }
  std::vector<Argument> arguments = program.arguments();
  arguments.push_back({censusName, true, true, DType::I64, {dynamic, 2}, {2, 1}, 0, ""});
  CompileReport unused;
  const CompileOptions options;
  StageRunner runner(*module, options, unused);
  Expected<std::unique_ptr<CpuCode>> code =
      CpuCode::build(*module, entry.getName().str(), arguments, "loops", threads, runner);
  if (!code)
    return code.error();
  result->code = std::move(*code);
  return result;
}

Expected<TileCounts> TileCensus::run(const runtime::Bindings &bindings) {
  const auto tiles = [](int64_t length, int64_t tile) { return (length + tile - 1) / tile; };
  const std::vector<int64_t> &q = bindings.tensors.at(query).sizes, &k = bindings.tensors.at(key).sizes;
  const int64_t queryTiles = tiles(q[2], tileQ), keyTiles = tiles(k[2], tileKv), heads = q[0] * q[1];
  // At most one block for each query tile of each head, in either loop order.
  std::vector<int64_t> counters(static_cast<size_t>(std::max<int64_t>(heads * std::max<int64_t>(queryTiles, 1), 1)) * 2,
                                0);
  runtime::Bindings extended = bindings;
  extended.tensors[censusName] = {DType::I64,
                                  reinterpret_cast<uintptr_t>(counters.data()),
                                  0,
                                  {static_cast<int64_t>(counters.size()) / 2, 2},
                                  {2, 1}};
  Expected<double> time = code->run(extended);
  if (!time)
    return time.error();
  TileCounts counts;
  for (size_t n = 0; n < counters.size(); n += 2) {
    counts.masked += counters[n];
    counts.full += counters[n + 1];
  }
  counts.skipped = heads * queryTiles * keyTiles - counts.masked - counts.full;
  return counts;
}

} // namespace fa::execution
