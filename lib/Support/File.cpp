// Whole-file input and output over POSIX calls.
#include "fa/Support/File.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fa {
namespace {

Error systemError(const std::string &what, const std::string &path, int code) {
  return makeError(what + " '" + path + "': " + std::strerror(code), code);
}

/// Closes on every way out.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int close() {
    const int result = ::close(fd);
    fd = -1;
    return result;
  }
};

/// Large writes are cut: Linux moves at most 2 GiB at a time.
int writeAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd, data.data(), std::min<size_t>(data.size(), size_t{1} << 30));
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    data.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

/// Unique among threads and processes; O_EXCL settles the rest.
std::string temporaryName(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  return path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
}

} // namespace

Expected<std::string> readFile(const std::string &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    return systemError("cannot open", path, errno);
  struct stat info{};
  if (::fstat(file.fd, &info) != 0)
    return systemError("cannot read", path, errno);
  if (S_ISDIR(info.st_mode))
    return systemError("cannot read", path, EISDIR);
  // A pipe has no size: the buffer grows by what arrives.
  std::string contents(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) + 1 : size_t{1} << 16, '\0');
  size_t used = 0;
  for (;;) {
    if (used == contents.size())
      contents.resize(contents.size() * 2);
    const ssize_t got = ::read(file.fd, contents.data() + used, contents.size() - used);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("cannot read", path, errno);
    if (got == 0)
      break;
    used += static_cast<size_t>(got);
  }
  contents.resize(used);
  return contents;
}

Status writeFileAtomically(const std::string &path, std::initializer_list<std::string_view> pieces) {
  // A rename would replace a device or a pipe (/dev/null, say) by a file.
  struct stat existing{};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode))
    return makeError("cannot write '" + path + "': expected a regular file or a new name, but got a " +
                     (S_ISDIR(existing.st_mode) ? "folder" : "device or pipe"));
  std::string temporary;
  int fd = -1;
  for (int attempt = 0; attempt < 100 && fd < 0; ++attempt) {
    temporary = temporaryName(path);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  if (fd < 0)
    return systemError("cannot write", path, errno);
  Descriptor file(fd);
  int code = 0;
  for (std::string_view piece : pieces)
    if (code == 0)
      code = writeAll(file.fd, piece);
  if (file.close() != 0 && code == 0)
    code = errno;
  if (code == 0 && ::rename(temporary.c_str(), path.c_str()) != 0)
    code = errno;
  if (code == 0)
    return Status::success();
  ::unlink(temporary.c_str());
  return systemError("cannot write", path, code);
}

} // namespace fa
