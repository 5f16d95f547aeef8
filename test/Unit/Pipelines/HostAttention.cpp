// Builds the IR of a HostAttention, compiles it in this process and calls it.
#include "HostAttention.h"
#include "fa/Conversion/Passes.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/Common.h"
#include "fa/Pipelines/Register.h"
#include "fa/Target/CPU/CompileToObject.h"
#include "fa/Target/CPU/JitModule.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace fa;
using namespace fa::test;

/// Stands for the thread pool: blocks in reverse order, which no kernel may notice, and scratch memory full of NaN.
extern "C" void fa_launch_blocks(void (*kernel)(int64_t, void **), int64_t blocks, int32_t, void **arguments,
                                 int64_t numArguments, int64_t scratchBytes) {
  std::vector<uint8_t> memory(static_cast<size_t>(scratchBytes) + 64);
  const auto address = (reinterpret_cast<int64_t>(memory.data()) + 63) / 64 * 64;
  int64_t scratch[] = {address, address, 0, scratchBytes, 1};
  std::vector<void *> given(arguments, arguments + numArguments);
  if (scratchBytes > 0)
    given.back() = scratch;
  for (int64_t block = blocks - 1; block >= 0; --block) {
    std::fill(memory.begin(), memory.end(), 0xff);
    kernel(block, given.data());
  }
}

//===----------------------------------------------------------------------===//
// HostArray
//===----------------------------------------------------------------------===//

HostArray::HostArray(DType type, std::vector<int64_t> sizes, std::vector<int64_t> order, int64_t gap)
    : type(type), sizes(sizes), strides(sizes.size()) {
  if (order.size() != sizes.size()) {
    order.resize(sizes.size());
    std::iota(order.begin(), order.end(), 0);
  }
  int64_t step = 1;
  for (size_t n = order.size(); n-- > 0;) {
    strides[order[n]] = step;
    step = step * sizes[order[n]] + (n + 1 == order.size() ? gap : 0);
  }
  // A canary of all ones is NaN in every float type.
  bytes.assign((step + 16) * sizeOf(type), std::byte{0xFF});
}

int64_t HostArray::place(const std::vector<int64_t> &index) const {
  return 8 + std::inner_product(index.begin(), index.end(), strides.begin(), int64_t(0));
}

void HostArray::forEach(const std::function<void(const std::vector<int64_t> &)> &visit) const {
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  std::vector<int64_t> index(sizes.size());
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d])
      index[d] = rest % sizes[d];
    visit(index);
  }
}

void HostArray::fill(const std::function<double(const std::vector<int64_t> &)> &value) {
  forEach([&](const std::vector<int64_t> &index) { set(index, value(index)); });
}

void HostArray::fillNormal(unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  fill([&](const std::vector<int64_t> &) { return normal(generator); });
}

double HostArray::at(std::vector<int64_t> index) const {
  return loadAsDouble(type, bytes.data() + place(index) * sizeOf(type));
}

void HostArray::set(std::vector<int64_t> index, double value) {
  storeFromDouble(type, bytes.data() + place(index) * sizeOf(type), value);
}

std::vector<double> HostArray::values() const {
  std::vector<double> all;
  forEach([&](const std::vector<int64_t> &index) { all.push_back(at(index)); });
  return all;
}

bool HostArray::canariesIntact() const {
  std::vector<bool> inside(bytes.size() / sizeOf(type));
  forEach([&](const std::vector<int64_t> &index) { inside[place(index)] = true; });
  for (size_t n = 0; n < bytes.size(); ++n)
    if (!inside[n / sizeOf(type)] && bytes[n] != std::byte{0xFF})
      return false;
  return true;
}

reference::TensorView HostArray::view() const {
  reference::TensorView view = reference::TensorView::dense(type, bytes.data() + 8 * sizeOf(type), sizes);
  view.strides = strides;
  return view;
}

std::vector<int64_t> HostArray::descriptor() const {
  auto base = reinterpret_cast<int64_t>(bytes.data());
  std::vector<int64_t> words{base, base, 8};
  words.insert(words.end(), sizes.begin(), sizes.end());
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

//===----------------------------------------------------------------------===//
// HostAttention
//===----------------------------------------------------------------------===//

std::string HostAttention::ir(Form form) const {
  std::string element(nameOf(type)), wide(nameOf(accumulator()));
  auto dims = [&](int64_t heads, int64_t depth) {
    return "memref<" + std::to_string(batch) + "x" + std::to_string(heads) + "x?x" + std::to_string(depth) + "x" +
           element + ", strided<[?, ?, ?, ?], offset: ?>>";
  };
  std::string q = dims(heads, depth), k = dims(kvHeads, depth), v = dims(kvHeads, depthV), o = dims(heads, depthV);
  std::string lse = "memref<" + std::to_string(batch) + "x" + std::to_string(heads) + "x?x" + wide +
                    ", strided<[?, ?, ?], offset: ?>>";
  std::string extra = "memref<?x" + wide + ", strided<[?], offset: ?>>";
  std::string schedule = "schedule(#fa.schedule<tile_q = " + std::to_string(tileQ) +
                         ", tile_kv = " + std::to_string(tileKv) +
                         (form == Form::KeyOuter ? ", order = key_outer" : "") + ", target = #fa.cpu>)";
  size_t region = std::min({clauses.find("score ("), clauses.find("mask ("), clauses.size()});
  return "func.func @attention(%q: " + q + ", %k: " + k + ", %v: " + v + ", %o: " + o + ", %lse: " + lse +
         ", %extra: " + extra + ") {\n  %c0 = arith.constant 0 : index\n  %x = memref.load %extra[%c0] : " + extra +
         "\n  fa.attention ins(%q, %k, %v : " + q + ", " + k + ", " + v + ") outs(%o, %lse : " + o + ", " + lse + ") " +
         clauses.substr(0, region) + " " + schedule + " " + clauses.substr(region) + "\n  return\n}\n";
}

static std::unique_ptr<mlir::fa::JitModule> compile(const std::string &ir, Form form) {
  mlir::DialectRegistry registry;
  mlir::fa::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(ir, &context);
  EXPECT_TRUE(module) << ir;
  if (!module)
    return nullptr;
  mlir::PassManager pm(&context);
  if (form == Form::Naive)
    pm.addPass(mlir::fa::createLowerNaivePass());
  else
    mlir::fa::buildKernelsPipeline(pm, mlir::fa::ScheduleOptions());
  if (form == Form::Vector || form == Form::Vector128) {
    mlir::fa::VectorUnitOptions unit;
    auto features = mlir::fa::enabledFeatures(mlir::UnknownLoc::get(&context), {});
    if (form == Form::Vector && succeeded(features))
      mlir::fa::selectVectorUnit(*features, unit);
    mlir::fa::buildCpuVectorPipeline(pm, unit);
  } else {
    mlir::fa::buildCpuLoopsPipeline(pm);
  }
  if (failed(pm.run(*module))) {
    ADD_FAILURE() << "the pipeline failed on\n" << ir;
    return nullptr;
  }
  mlir::fa::CpuOptions options;
  options.irLevel = form == Form::Vector || form == Form::Vector128 ? 0 : 2;
  auto object = mlir::fa::compileToObject(*module, options);
  EXPECT_TRUE(succeeded(object));
  if (failed(object))
    return nullptr;
  auto jit = mlir::fa::JitModule::load(*object);
  EXPECT_TRUE(bool(jit)) << jit.message();
  return jit ? std::move(*jit) : nullptr;
}

Result fa::test::run(const HostAttention &a, Form form, const HostArray &query, const HostArray &key,
                     const HostArray &value) {
  Result result{HostArray(a.type, {a.batch, a.heads, a.seqQ, a.depthV}, a.layout, a.gap),
                HostArray(a.accumulator(), {a.batch, a.heads, a.seqQ})};
  auto jit = compile(a.ir(form), form);
  if (!jit)
    return result;
  auto entry = jit->lookup("_mlir_ciface_attention");
  EXPECT_TRUE(bool(entry)) << entry.message();
  if (!entry)
    return result;
  HostArray extra(a.accumulator(), {1});
  extra.set({0}, a.extra);
  std::vector<int64_t> words[] = {query.descriptor(),         key.descriptor(),        value.descriptor(),
                                  result.output.descriptor(), result.lse.descriptor(), extra.descriptor()};
  auto call = reinterpret_cast<void (*)(void *, void *, void *, void *, void *, void *)>(*entry);
  call(words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), words[5].data());
  EXPECT_TRUE(result.output.canariesIntact()) << "written outside the output";
  EXPECT_TRUE(result.lse.canariesIntact()) << "written outside the log-sum-exp";
  return result;
}
