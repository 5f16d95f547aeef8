// Says on a terminal what takes longer than two seconds.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace fa::run_tool {

/// Prints "phase ... N s" to standard error, over and over on one line, once a phase has lasted two seconds. Silent
/// when standard error is no terminal.
class Progress {
public:
  Progress();
  ~Progress();
  void begin(const std::string &phase);

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::string phase;
  uint64_t generation = 0;
  bool stop = false;
  std::thread watcher;

  void watch();
};

} // namespace fa::run_tool
