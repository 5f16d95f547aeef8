// A call of the C interface, checked and turned into the terms of Execution.
#pragma once
#include "fa/CAPI/fa.h"
#include "fa/Execution/AttentionSpec.h"
#include "fa/Execution/Program.h"
#include "fa/Support/Expected.h"

namespace fa::capi {

struct Request {
  execution::AttentionSpec spec;
  runtime::Bindings bindings; ///< q, k, v, o, lse, bias, slopes
  fa_attention_options options;
};

/// How a call treats the outputs' types.
enum class OutputTypes { OfKernel, Any };

/// Everything that can be wrong with the arguments is found here; errors name the tensor or the option.
Expected<Request> makeRequest(const fa_tensor *q, const fa_tensor *k, const fa_tensor *v, const fa_tensor *o,
                              const fa_tensor *lse, const fa_attention_options *options, OutputTypes outputTypes);

/// The caller's options over the defaults, whatever version of the struct the caller was compiled with.
Expected<fa_attention_options> readOptions(const fa_attention_options *options);

} // namespace fa::capi
