// What a compiled attention is made of, as the kernel cache keeps it, and the cache of one compilation.
#pragma once
#include "CpuCode.h"
#include "fa/Execution/Compile.h"
#include "fa/Execution/KernelCache.h"

namespace fa::execution {

/// Code, and the part of the report that only compiling would tell.
struct CachedCode {
  CodeImage code;
  std::string schedule, order;
  int64_t tileQ = 0, tileKv = 0;
  std::vector<std::string> remarks;

  CachedCode() = default;
  CachedCode(const CompileReport &report, const CpuCode &code);
  void fill(CompileReport &report) const;
  std::string serialize() const;
  /// Nothing for text of another version of this file, or with descriptors that do not parse.
  static std::optional<CachedCode> deserialize(const std::string &text);
};

/// The kernel cache as one compilation uses it. A cache that does not work costs time, never the result: the reason is
/// kept for the report.
class CodeCache {
public:
  CodeCache(const Program &program, const CompileOptions &options);

  bool isOpen() const { return cache.has_value(); }
  std::optional<CachedCode> load();
  void store(const CachedCode &code);
  /// hit, miss, or why it was not used.
  const std::string &outcome() const { return text; }

private:
  std::optional<KernelCache> cache;
  std::string key, text;
};

} // namespace fa::execution
