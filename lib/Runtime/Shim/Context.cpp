// Contexts: each is one emulated device memory; the primary one is shared and counted.
#include "Shim.h"

namespace fa::shim {

std::vector<Context *> &contextStack() {
  thread_local std::vector<Context *> stack;
  return stack;
}

Context *currentContext() {
  std::vector<Context *> &stack = contextStack();
  return stack.empty() || !state().contexts.count(stack.back()) ? nullptr : stack.back();
}

namespace {

bool isContext(Context *context) { return state().contexts.count(context) != 0; }

Context *createContext() {
  auto context = std::make_unique<Context>();
  context->emulator = std::make_unique<runtime::emulator::Emulator>(state().options);
  Context *result = context.get();
  state().contexts[result] = std::move(context);
  return result;
}

void destroyContext(Context *context) {
  for (auto &[module, owned] : context->modules)
    std::erase_if(state().functions, [&, m = module](const auto &item) { return item.second == m; });
  state().contexts.erase(context);
}

int createAndPush(Context **context, int device) {
  return entry([&]() -> int {
    if (!context)
      return invalidValue;
    if (device != 0)
      return invalidDevice;
    *context = createContext();
    contextStack().push_back(*context);
    return success;
  });
}

} // namespace
} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuDevicePrimaryCtxRetain(Context **context, int device) {
  return entry([&]() -> int {
    if (!context)
      return invalidValue;
    if (device != 0)
      return invalidDevice;
    if (!state().primary) {
      state().primary = createContext();
      state().primary->isPrimary = true;
    }
    ++state().primaryUsers;
    *context = state().primary;
    return success;
  });
}

FA_SHIM_ENTRY int cuDevicePrimaryCtxRelease_v2(int device) {
  return entry([&]() -> int {
    if (device != 0)
      return invalidDevice;
    if (state().primaryUsers == 0)
      return invalidContext;
    if (--state().primaryUsers == 0) {
      destroyContext(state().primary);
      state().primary = nullptr;
    }
    return success;
  });
}

FA_SHIM_ENTRY int cuCtxCreate_v2(Context **context, unsigned, int device) { return createAndPush(context, device); }
/// `parameters` (execution affinity, CIG) has no meaning here and must be null.
FA_SHIM_ENTRY int cuCtxCreate_v4(Context **context, void *parameters, unsigned, int device) {
  return parameters ? static_cast<int>(notSupported) : createAndPush(context, device);
}

FA_SHIM_ENTRY int cuCtxDestroy_v2(Context *context) {
  return entry([&]() -> int {
    if (!isContext(context) || context->isPrimary)
      return invalidContext;
    if (!contextStack().empty() && contextStack().back() == context)
      contextStack().pop_back();
    destroyContext(context);
    return success;
  });
}

FA_SHIM_ENTRY int cuCtxSetCurrent(Context *context) {
  return entry([&]() -> int {
    if (context && !isContext(context))
      return invalidContext;
    if (!contextStack().empty())
      contextStack().pop_back();
    if (context)
      contextStack().push_back(context);
    return success;
  });
}

FA_SHIM_ENTRY int cuCtxGetCurrent(Context **context) {
  return entry([&]() -> int {
    if (!context)
      return invalidValue;
    *context = currentContext();
    return success;
  });
}

FA_SHIM_ENTRY int cuCtxPushCurrent_v2(Context *context) {
  return entry([&]() -> int {
    if (!isContext(context))
      return invalidContext;
    contextStack().push_back(context);
    return success;
  });
}

FA_SHIM_ENTRY int cuCtxPopCurrent_v2(Context **context) {
  return entry([&]() -> int {
    if (contextStack().empty())
      return invalidContext;
    if (context)
      *context = contextStack().back();
    contextStack().pop_back();
    return success;
  });
}

FA_SHIM_ENTRY int cuCtxSynchronize() {
  return entryInContext([](Context &) -> int { return success; });
}
