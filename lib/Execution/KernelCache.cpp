// One file per entry, named by the SHA-256 of its key: magic, sizes, key, contents, SHA-256 of key and contents.
#include "fa/Execution/KernelCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fa::execution {
namespace {
namespace fs = std::filesystem;

constexpr char magic[8] = {'F', 'A', 'K', 'C', '0', '0', '0', '1'};
constexpr const char *entrySuffix = ".kernel", *temporarySuffix = ".tmp";

struct Header {
  char magic[8];
  uint64_t keyBytes, contentBytes;
  uint8_t checksum[32];
};

std::array<uint8_t, 32> digest(llvm::StringRef key, llvm::StringRef contents) {
  llvm::SHA256 hash;
  uint64_t size = key.size(); // so that no byte can move from one to the other
  hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof(size)));
  hash.update(key);
  hash.update(contents);
  return hash.final();
}

/// Closes and removes its file unless it was committed.
class TemporaryFile {
public:
  explicit TemporaryFile(const fs::path &directory) {
    static std::atomic<unsigned> counter{0};
    path = directory / (std::to_string(::getpid()) + "-" + std::to_string(counter++) + temporarySuffix);
    // A process with our number may have died here before.
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  }
  ~TemporaryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (descriptor >= 0 && !committed)
      ::unlink(path.c_str());
  }
  bool isOpen() const { return descriptor >= 0; }
  bool write(const void *data, size_t size) {
    for (const char *from = static_cast<const char *>(data); size > 0;) {
      const ssize_t written = ::write(descriptor, from, size);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      from += written;
      size -= static_cast<size_t>(written);
    }
    return true;
  }
  bool commit(const fs::path &target) { return committed = ::rename(path.c_str(), target.c_str()) == 0; }

private:
  fs::path path;
  int descriptor = -1;
  bool committed = false;
};

} // namespace

std::string KernelCache::defaultDirectory() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache && *cache)
    return std::string(cache) + "/fa-compiler";
  return home && *home ? std::string(home) + "/.cache/fa-compiler" : std::string();
}

Expected<KernelCache> KernelCache::open(const std::string &directory, Limits limits) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return makeError("cannot create the kernel cache '" + directory + "': " + error.message());
  if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0)
    return makeError("cannot use the kernel cache '" + directory + "': " + std::strerror(errno));
  return KernelCache(directory, limits);
}

std::string KernelCache::pathOf(const std::string &key) const {
  return (fs::path(directory) / (llvm::toHex(digest(key, ""), /*LowerCase=*/true) + entrySuffix)).string();
}

std::optional<std::string> KernelCache::load(const std::string &key) const {
  const std::string path = pathOf(key);
  std::ifstream file(path, std::ios::binary);
  Header header;
  if (!file.read(reinterpret_cast<char *>(&header), sizeof(header)) || std::memcmp(header.magic, magic, 8) != 0)
    return std::nullopt;
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error || header.keyBytes != key.size() || header.contentBytes != size - sizeof(header) - key.size())
    return std::nullopt;
  std::string recordedKey(header.keyBytes, '\0'), contents(header.contentBytes, '\0');
  if (!file.read(recordedKey.data(), static_cast<std::streamsize>(recordedKey.size())) ||
      !file.read(contents.data(), static_cast<std::streamsize>(contents.size())))
    return std::nullopt;
  if (recordedKey != key || std::memcmp(digest(key, contents).data(), header.checksum, 32) != 0)
    return std::nullopt;
  // The time of use orders eviction; a read-only entry simply ages.
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return contents;
}

Status KernelCache::store(const std::string &key, const std::string &contents) const {
  Header header;
  std::memcpy(header.magic, magic, sizeof(magic));
  header.keyBytes = key.size();
  header.contentBytes = contents.size();
  std::memcpy(header.checksum, digest(key, contents).data(), 32);
  const std::string path = pathOf(key);
  {
    TemporaryFile file(directory);
    if (!file.isOpen() || !file.write(&header, sizeof(header)) || !file.write(key.data(), key.size()) ||
        !file.write(contents.data(), contents.size()) || !file.commit(path))
      return makeError("cannot write to the kernel cache '" + directory + "': " + std::strerror(errno));
  }
  evict(path);
  return Status::success();
}

void KernelCache::evict(const std::string &justWritten) const {
  struct Entry {
    fs::path path;
    uint64_t bytes;
    fs::file_time_type used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  // Another process may remove any of these files at any time: a failure only means that it was faster.
  for (fs::directory_iterator file(directory, error), end; !error && file != end; file.increment(error)) {
    std::error_code gone;
    const auto used = fs::last_write_time(file->path(), gone);
    const uint64_t bytes = gone ? 0 : fs::file_size(file->path(), gone);
    if (gone)
      continue;
    const fs::path extension = file->path().extension();
    if (extension == temporarySuffix && std::chrono::duration<double>(now - used).count() > limits.abandonedSeconds)
      fs::remove(file->path(), gone);
    if (extension != entrySuffix)
      continue;
    total += bytes;
    entries.push_back({file->path(), bytes, used});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= limits.bytes)
      break;
    if (entry.path == justWritten)
      continue;
    std::error_code gone;
    fs::remove(entry.path, gone);
    total -= entry.bytes;
  }
}

} // namespace fa::execution
