// The functions of fa.h: check, compile or look up, run; every failure becomes a code and a message.
#include "KernelCache.h"
#include "Request.h"
#include "fa/Execution/Check.h"
#include <cstring>
#include <exception>
#include <limits>

using namespace fa;
using namespace fa::capi;

namespace {

thread_local std::string lastError;

fa_status fail(fa_status code, const std::string &message) {
  lastError = message;
  return code;
}

/// No exception crosses the C boundary.
template <typename Body> fa_status guarded(Body body) {
  lastError.clear();
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(FA_RUN_FAILED, "out of memory");
  } catch (const std::exception &problem) {
    return fail(FA_INTERNAL_ERROR, problem.what());
  }
}

/// Evaluation results (dense, float64) into a strided tensor of any type.
void store(const runtime::Tensor &tensor, const std::vector<double> &values) {
  std::vector<int64_t> index(tensor.sizes.size(), 0);
  int64_t offset = 0;
  for (double value : values) {
    storeFromDouble(tensor.type,
                    reinterpret_cast<char *>(tensor.base) + offset * static_cast<int64_t>(sizeOf(tensor.type)), value);
    for (size_t d = index.size(); d-- > 0;) {
      offset += tensor.strides[d];
      if (++index[d] < tensor.sizes[d])
        break;
      offset -= tensor.strides[d] * tensor.sizes[d];
      index[d] = 0;
    }
  }
}

fa_status evaluateReference(const Request &request) {
  Expected<execution::Program> program = execution::Program::fromSpec(request.spec);
  if (!program)
    return fail(FA_COMPILE_FAILED, program.message());
  Expected<execution::AttentionProblem> problem = execution::AttentionProblem::create(*program, request.bindings);
  if (!problem)
    return fail(FA_INVALID_ARGUMENT, problem.message());
  reference::EvaluationOptions options;
  options.threads = request.options.threads;
  options.unfused = false;
  const Expected<reference::Evaluation> evaluation = reference::evaluate(problem->problem(), options);
  if (!evaluation)
    return fail(FA_RUN_FAILED, evaluation.message());
  if (Status status = problem->status(); !status)
    return fail(FA_RUN_FAILED, status.message());
  store(request.bindings.tensors.at("o"), evaluation->output);
  if (request.spec.lse)
    store(request.bindings.tensors.at("lse"), evaluation->lse);
  return FA_OK;
}

} // namespace

void fa_attention_options_init(fa_attention_options *options, size_t struct_size) {
  fa_attention_options defaults;
  std::memset(&defaults, 0, sizeof defaults);
  defaults.scale = std::numeric_limits<double>::quiet_NaN();
  defaults.window_left = defaults.window_right = FA_UNLIMITED;
  if (!options || struct_size < sizeof options->struct_size)
    return;
  std::memset(options, 0, struct_size);
  std::memcpy(options, &defaults, std::min(struct_size, sizeof defaults));
  options->struct_size = struct_size;
}

fa_status fa_attention_forward(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v, const fa_tensor *o,
                               const fa_tensor *lse, const fa_attention_options *options) {
  return guarded([&]() -> fa_status {
    const Expected<Request> request = makeRequest(q, k, v, o, lse, options, OutputTypes::OfKernel);
    if (!request)
      return fail(FA_INVALID_ARGUMENT, request.message());
    const Expected<std::shared_ptr<execution::CompiledAttention>> kernel = KernelCache::instance().get(*request);
    if (!kernel)
      return fail(FA_COMPILE_FAILED, kernel.message());
    if (Expected<double> seconds = (*kernel)->run(request->bindings); !seconds)
      return fail(FA_RUN_FAILED, seconds.message());
    return FA_OK;
  });
}

fa_status fa_attention_reference(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v, const fa_tensor *o,
                                 const fa_tensor *lse, const fa_attention_options *options) {
  return guarded([&]() -> fa_status {
    const Expected<Request> request = makeRequest(q, k, v, o, lse, options, OutputTypes::Any);
    if (!request)
      return fail(FA_INVALID_ARGUMENT, request.message());
    return evaluateReference(*request);
  });
}

const char *fa_last_error(void) { return lastError.c_str(); }
uint64_t fa_compile_count(void) { return KernelCache::instance().compileCount(); }
const char *fa_version(void) { return FA_VERSION; }
