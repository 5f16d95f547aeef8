// Compiled kernels on disk. Safe under concurrent processes: an entry is written to a private temporary file and
// renamed, and what is read is checked against its recorded key and checksum.
#pragma once
#include "fa/Support/Expected.h"
#include <cstdint>
#include <optional>
#include <string>

namespace fa::execution {

class KernelCache {
public:
  struct Limits {
    uint64_t bytes = uint64_t(256) << 20; ///< of all entries; the longest unused ones go first
    double abandonedSeconds = 600;        ///< temporary files older than this belong to processes that were killed
  };

  /// Creates the directory when it is missing. Fails when that is not possible or it cannot be written to.
  static Expected<KernelCache> open(const std::string &directory, Limits limits);
  static Expected<KernelCache> open(const std::string &directory) { return open(directory, Limits()); }
  /// $XDG_CACHE_HOME/fa-compiler, else ~/.cache/fa-compiler; empty when neither is known.
  static std::string defaultDirectory();

  /// The contents stored under `key`, any text. Nothing for a missing, damaged or half-written entry, and for one that
  /// was stored under another key (they share a file name only if SHA-256 collides).
  std::optional<std::string> load(const std::string &key) const;
  /// Replaces the entry in one step, then removes entries beyond the limit. An error leaves the cache as it was.
  Status store(const std::string &key, const std::string &contents) const;
  /// The file that holds `key`, present or not.
  std::string pathOf(const std::string &key) const;

private:
  KernelCache(std::string directory, Limits limits) : directory(std::move(directory)), limits(limits) {}
  void evict(const std::string &justWritten) const;

  std::string directory;
  Limits limits;
};

/// Identifies the code of this compiler: the build ids of the object files that hold it, of MLIR and of LLVM. Another
/// build never reads entries of this one.
std::string compilerBuildId();

} // namespace fa::execution
