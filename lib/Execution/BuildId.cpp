// GNU build ids of the loaded object files that the compiler consists of.
#include "fa/Execution/KernelCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <link.h>
#include <mutex>
#include <vector>

namespace fa::execution {
namespace {

struct Object {
  std::string path, buildId;
};

std::string findBuildId(const char *note, size_t size) {
  for (size_t offset = 0; offset + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note + offset, sizeof(header));
    const size_t name = offset + sizeof(header), contents = name + ((header.n_namesz + 3) & ~3u);
    if (header.n_type == NT_GNU_BUILD_ID && contents + header.n_descsz <= size)
      return llvm::toHex(llvm::StringRef(note + contents, header.n_descsz));
    offset = contents + ((header.n_descsz + 3) & ~3u);
  }
  return "";
}

/// Contents of the file: for objects that were linked without a build id.
std::string hashFile(const std::string &path) {
  llvm::SHA256 hash;
  if (FILE *file = std::fopen(path.empty() ? "/proc/self/exe" : path.c_str(), "rb")) {
    std::vector<uint8_t> block(1 << 20);
    while (size_t count = std::fread(block.data(), 1, block.size(), file))
      hash.update(llvm::ArrayRef(block.data(), count));
    std::fclose(file);
  }
  return llvm::toHex(hash.final());
}

int collect(dl_phdr_info *info, size_t, void *result) {
  const auto self = reinterpret_cast<uintptr_t>(&compilerBuildId);
  const std::string path = info->dlpi_name;
  const std::string file = std::filesystem::path(path).filename().string();
  bool ours = file.find("LLVM") != std::string::npos || file.find("MLIR") != std::string::npos;
  std::string buildId;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD)
      ours |= start <= self && self < start + segment.p_memsz;
    if (segment.p_type == PT_NOTE && buildId.empty())
      buildId = findBuildId(reinterpret_cast<const char *>(start), segment.p_memsz);
  }
  if (ours)
    static_cast<std::vector<Object> *>(result)->push_back({path, buildId});
  return 0;
}

} // namespace

std::string compilerBuildId() {
  static std::string id;
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<Object> objects;
    ::dl_iterate_phdr(collect, &objects);
    std::vector<std::string> ids;
    for (const Object &object : objects)
      ids.push_back(object.buildId.empty() ? hashFile(object.path) : object.buildId);
    std::sort(ids.begin(), ids.end());
    for (const std::string &part : ids)
      id += (id.empty() ? "" : "+") + part;
  });
  return id;
}

} // namespace fa::execution
