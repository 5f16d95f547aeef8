// The watcher thread of the progress line.
#include "Progress.h"
#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace fa::run_tool {

Progress::Progress() {
  if (::isatty(STDERR_FILENO))
    watcher = std::thread([this] { watch(); });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  changed.notify_all();
  if (watcher.joinable())
    watcher.join();
}

void Progress::begin(const std::string &name) {
  {
    std::lock_guard lock(mutex);
    phase = name;
    ++generation;
  }
  changed.notify_all();
}

void Progress::watch() {
  std::unique_lock lock(mutex);
  while (!stop) {
    const uint64_t seen = generation;
    const auto moved = [&] { return stop || generation != seen; };
    bool printed = false;
    for (int seconds = 0; !changed.wait_for(lock, std::chrono::seconds(1), moved);) {
      if (++seconds < 2 || phase.empty())
        continue;
      std::fprintf(stderr, "\r%s ... %d s", phase.c_str(), seconds);
      printed = true;
    }
    if (printed)
      std::fprintf(stderr, "\r\x1b[K");
  }
}

} // namespace fa::run_tool
