// A private folder that disappears with the test.
#pragma once
#include <filesystem>
#include <stdlib.h>
#include <string>

namespace fa::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fa-test-XXXXXX").string();
    root = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string path(const std::string &name) const { return (root / name).string(); }
  /// Files in it, for tests that nothing was left behind.
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(root), std::filesystem::directory_iterator()));
  }

private:
  std::filesystem::path root;
};

} // namespace fa::test
