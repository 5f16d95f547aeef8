// The key is the IR itself plus the compile options: nothing that code generation reads can be missing from it.
#include "KernelCache.h"
#include "fa/Execution/Program.h"

namespace fa::capi {
namespace {

execution::CompileOptions compileOptions(const fa_attention_options &options) {
  execution::CompileOptions result;
  result.device = "cpu";
  result.threads = options.threads;
  if (options.form == FA_FORM_NAIVE) {
    result.lowering = "naive";
    return result;
  }
  result.tileQ = options.tile_q;
  result.tileKv = options.tile_kv;
  result.order = options.order == FA_ORDER_KEY_OUTER ? "key_outer" : "query_outer";
  return result;
}

std::string keyOf(const std::string &ir, const execution::CompileOptions &options) {
  return ir + "\n" + options.lowering + "," + std::to_string(options.tileQ) + "," + std::to_string(options.tileKv) +
         "," + options.order + "," + std::to_string(options.threads);
}

} // namespace

KernelCache &KernelCache::instance() {
  // Never destroyed: other threads may still run kernels while the process exits.
  static auto *cache = new KernelCache;
  return *cache;
}

uint64_t KernelCache::compileCount() const {
  std::lock_guard lock(mutex);
  return compiled;
}

Expected<std::shared_ptr<execution::CompiledAttention>> KernelCache::get(const Request &request) {
  const execution::CompileOptions options = compileOptions(request.options);
  const std::string key = keyOf(request.spec.toIR(), options);
  std::lock_guard lock(mutex);
  for (auto entry = entries.begin(); entry != entries.end(); ++entry)
    if (entry->key == key) {
      entries.splice(entries.begin(), entries, entry);
      return entry->kernel;
    }
  Expected<execution::Program> program = execution::Program::fromSpec(request.spec);
  if (!program)
    return program.error();
  Expected<std::unique_ptr<execution::CompiledAttention>> kernel = execution::compile(*program, options);
  if (!kernel)
    return kernel.error();
  ++compiled;
  entries.push_front({key, std::shared_ptr<execution::CompiledAttention>(std::move(*kernel))});
  if (entries.size() > capacity)
    entries.pop_back();
  return entries.front().kernel;
}

} // namespace fa::capi
