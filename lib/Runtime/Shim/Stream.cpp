// Streams and events. Work is done when a call returns, so streams only have to exist; events keep the host's time.
#include "Shim.h"

namespace fa::shim {

bool isStream(Stream *stream) { return reinterpret_cast<uintptr_t>(stream) <= 2 || state().streams.count(stream) != 0; }

namespace {

bool isEvent(Event *event) { return state().events.count(event) != 0; }

} // namespace
} // namespace fa::shim

using namespace fa::shim;

FA_SHIM_ENTRY int cuStreamCreate(Stream **stream, unsigned flags) {
  return entryInContext([&](Context &) -> int {
    if (!stream || flags > 1)
      return invalidValue;
    auto made = std::make_unique<Stream>();
    made->flags = flags;
    *stream = made.get();
    state().streams[*stream] = std::move(made);
    return success;
  });
}

FA_SHIM_ENTRY int cuStreamDestroy_v2(Stream *stream) {
  return entry([&]() -> int { return state().streams.erase(stream) ? success : invalidHandle; });
}

FA_SHIM_ENTRY int cuStreamSynchronize(Stream *stream) {
  return entryInContext([&](Context &) -> int { return isStream(stream) ? success : invalidHandle; });
}

FA_SHIM_ENTRY int cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
  return entryInContext([&](Context &) -> int { return isStream(stream) && isEvent(event) ? success : invalidHandle; });
}

FA_SHIM_ENTRY int cuEventCreate(Event **event, unsigned flags) {
  return entryInContext([&](Context &) -> int {
    if (!event)
      return invalidValue;
    auto made = std::make_unique<Event>();
    made->timing = !(flags & 2); // CU_EVENT_DISABLE_TIMING
    *event = made.get();
    state().events[*event] = std::move(made);
    return success;
  });
}

FA_SHIM_ENTRY int cuEventDestroy_v2(Event *event) {
  return entry([&]() -> int { return state().events.erase(event) ? success : invalidHandle; });
}

FA_SHIM_ENTRY int cuEventRecord(Event *event, Stream *stream) {
  return entryInContext([&](Context &) -> int {
    if (!isEvent(event) || !isStream(stream))
      return invalidHandle;
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return success;
  });
}

FA_SHIM_ENTRY int cuEventSynchronize(Event *event) {
  return entryInContext([&](Context &) -> int { return isEvent(event) ? success : invalidHandle; });
}
FA_SHIM_ENTRY int cuEventQuery(Event *event) { return cuEventSynchronize(event); }

FA_SHIM_ENTRY int cuEventElapsedTime_v2(float *milliseconds, Event *begin, Event *end) {
  return entryInContext([&](Context &) -> int {
    if (!milliseconds)
      return invalidValue;
    if (!isEvent(begin) || !isEvent(end) || !begin->recorded || !end->recorded || !begin->timing || !end->timing)
      return invalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
    return success;
  });
}
FA_SHIM_ENTRY int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}
