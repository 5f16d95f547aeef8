// Tile loops of a program, walked with the sizes and data of one run.
#include "fa/Execution/Tiles.h"
#include "Pipeline.h"
#include "fa/Analysis/TileMap.h"
#include "mlir/IR/Builders.h"

namespace fa::execution {
namespace {

/// Element of a host tensor, or failure where it lies outside.
mlir::FailureOr<mlir::Attribute> loadElement(const runtime::Tensor &tensor, llvm::ArrayRef<int64_t> indices,
                                             mlir::Type type) {
  int64_t element = 0;
  for (auto [index, size, stride] : llvm::zip_equal(indices, tensor.sizes, tensor.strides)) {
    if (index < 0 || index >= size)
      return mlir::failure();
    element += index * stride;
  }
  const auto *bytes =
      reinterpret_cast<const char *>(tensor.address()) + element * static_cast<int64_t>(sizeOf(tensor.type));
  if (tensor.type == DType::I64)
    return mlir::Attribute(mlir::IntegerAttr::get(type, *reinterpret_cast<const int64_t *>(bytes)));
  const double value = loadAsDouble(tensor.type, bytes);
  if (llvm::isa<mlir::FloatType>(type))
    return mlir::Attribute(mlir::FloatAttr::get(type, value));
  if (!llvm::isa<mlir::IntegerType, mlir::IndexType>(type))
    return mlir::failure();
  return mlir::Attribute(mlir::IntegerAttr::get(type, static_cast<int64_t>(value)));
}

/// Values of the function's arguments for the evaluator; the host values must outlive it.
mlir::fa::ScalarEvaluator makeEvaluator(const Program &program, mlir::func::FuncOp function,
                                        const runtime::Bindings &bindings, HostValues &values) {
  mlir::fa::ScalarEvaluator evaluator;
  for (auto [n, argument] : llvm::enumerate(program.arguments())) {
    mlir::Value value = function.getArgument(static_cast<unsigned>(n));
    if (argument.isTensor) {
      values.bind(value, bindings.tensors.at(argument.name));
      continue;
    }
    const double scalar = bindings.scalars.at(argument.name);
    if (llvm::isa<mlir::FloatType>(value.getType()))
      evaluator.bind(value, mlir::Attribute(mlir::FloatAttr::get(value.getType(), scalar)));
    else
      evaluator.bind(value, mlir::Attribute(mlir::IntegerAttr::get(value.getType(), static_cast<int64_t>(scalar))));
  }
  evaluator.sizeOf = [&values](mlir::Value buffer, int64_t dim) -> mlir::FailureOr<int64_t> {
    Expected<runtime::Tensor> tensor = values.tensor(buffer);
    if (!tensor || dim >= static_cast<int64_t>(tensor->sizes.size()))
      return mlir::failure();
    return tensor->sizes[dim];
  };
  evaluator.load = [&values](mlir::Value buffer, llvm::ArrayRef<int64_t> indices) -> mlir::FailureOr<mlir::Attribute> {
    Expected<runtime::Tensor> tensor = values.tensor(buffer);
    if (!tensor || tensor->sizes.size() != indices.size())
      return mlir::failure();
    return loadElement(*tensor, indices, llvm::cast<mlir::MemRefType>(buffer.getType()).getElementType());
  };
  return evaluator;
}

/// Runs the stages up to the one called `last`, and takes them off the list.
Status runUpTo(StageRunner &runner, std::vector<Stage> &stages, const std::string &last) {
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const Stage &stage) { return stage.name == last; });
  if (found == stages.end())
    return makeError("expected a stage '" + last + "' to look at the tiles of, but there is none");
  Status status = runner.run(std::vector<Stage>(stages.begin(), found + 1));
  stages.erase(stages.begin(), found + 1);
  return status;
}

} // namespace

Expected<TracedTiles> traceTiles(const Program &program, const CompileOptions &options, const std::string &target,
                                 const runtime::Bindings &bindings) {
  mlir::OwningOpRef<mlir::ModuleOp> module(program.module().clone());
  CompileOptions quiet = options;
  quiet.dump.clear();
  quiet.onStage = nullptr;
  CompileReport unused;
  StageRunner runner(*module, quiet, unused);
  std::vector<Stage> stages = kernelStages(quiet, target);
  if (Status status = runUpTo(runner, stages, "tiles"); !status)
    return status.error();
  auto function = module->lookupSymbol<mlir::func::FuncOp>(program.function().getName());
  HostValues values;
  mlir::fa::ScalarEvaluator evaluator = makeEvaluator(program, function, bindings, values);
  // Before elimination: a mask that hides everything leaves no step to take the sizes from.
  std::optional<mlir::fa::TileGrid> grid = mlir::fa::findTileGrid(function.getBody(), evaluator);
  if (!grid)
    return makeError("expected tile loops of known sizes in @" + function.getName().str() + ", but found none");
  if (Status status = runUpTo(runner, stages, "peeled"); !status)
    return status.error();

  DiagnosticText diagnostics(program.context());
  mlir::FailureOr<std::vector<mlir::fa::TileMap>> maps = mlir::fa::traceTileMaps(function.getBody(), *grid, evaluator);
  if (mlir::failed(maps))
    return makeError(diagnostics.errors("the tile loops could not be walked"));
  return TracedTiles{*grid, std::move(*maps)};
}

Expected<TileReport> inspectTiles(const Program &program, const CompileOptions &options,
                                  const runtime::Bindings &bindings, bool validate) {
  if (options.lowering == "naive")
    return makeError("expected a lowering with tiles to look at, but got naive");
  Expected<AttentionProblem> problem = AttentionProblem::create(program, bindings);
  if (!problem)
    return problem.error();
  const bool onGpu = options.device == "cuda" || options.device == "emulator";
  Expected<TracedTiles> traced = traceTiles(program, options, onGpu ? "sm_90a" : "cpu", bindings);
  if (!traced)
    return traced.error();
  const mlir::fa::TileGrid &grid = traced->grid;
  const std::vector<mlir::fa::TileMap> &maps = traced->maps;
  TileReport report;
  report.batch = grid.batch;
  report.heads = grid.heads;
  mlir::fa::TileCounts counts;
  if (validate) {
    // Folded queries: row i of head h is query i mod n of the group's member i / n (fa-fold-query-groups).
    const int64_t group = problem->problem().heads() / std::max<int64_t>(grid.heads, 1);
    const int64_t queries = grid.sq / std::max<int64_t>(group, 1);
    const auto visible = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      return !problem->isMasked() || problem->problem().visible(b, h * group + i / queries, i % queries, j);
    };
    if (std::optional<std::string> fault = mlir::fa::validateTiles(maps, visible, counts))
      return makeError("tile validation failed: " + *fault);
    if (Status status = problem->status(); !status)
      return status.error();
    report.empty = counts.empty;
  } else {
    for (const mlir::fa::TileMap &map : maps)
      counts += map.count();
  }
  report.visited = counts.visited();
  report.masked = counts.partial;
  report.skipped = counts.skipped;
  report.summary = counts.describe();
  if (!maps.empty()) {
    report.text = maps.front().toText();
    report.svg = maps.front().toSvg(std::to_string(grid.sq) + " queries, " + std::to_string(grid.sk) +
                                    " keys: tiles of one head");
  }
  return report;
}

} // namespace fa::execution
