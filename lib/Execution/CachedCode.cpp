// Keys and contents of the kernel cache.
#include "CachedCode.h"
#include "fa/Support/LaunchDescriptor.h"
#include "llvm/Support/JSON.h"
#include "llvm/TargetParser/Host.h"

namespace fa::execution {
namespace {
namespace json = llvm::json;

json::Array toArray(const std::vector<std::string> &items) {
  json::Array array;
  for (const std::string &item : items)
    array.push_back(item);
  return array;
}

bool fromArray(const json::Object &object, llvm::StringRef name, std::vector<std::string> &items) {
  const json::Array *array = object.getArray(name);
  if (!array)
    return false;
  for (const json::Value &item : *array) {
    const std::optional<llvm::StringRef> text = item.getAsString();
    if (!text)
      return false;
    items.push_back(text->str());
  }
  return true;
}

/// Everything that machine code depends on, readable: entries can be told apart with `strings`.
std::string keyOf(const Program &program, const CompileOptions &options) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << "compiler " << compilerBuildId() << " descriptor " << LaunchDescriptor::currentVersion << "\nlowering "
         << options.lowering << "\nschedule " << options.schedule << "\ntile_q " << options.tileQ << " tile_kv "
         << options.tileKv << " order " << options.order << "\ncpu " << llvm::sys::getProcessTriple() << ' '
         << llvm::sys::getHostCPUName();
  if (!options.cpu.empty())
    stream << " for " << options.cpu;
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  llvm::sort(features);
  for (const std::string &feature : features)
    stream << ' ' << feature;
  stream << "\nentry " << mlir::func::FuncOp(program.function()).getName() << '\n';
  program.module()->print(stream);
  return key;
}

} // namespace

CachedCode::CachedCode(const CompileReport &report, const CpuCode &code)
    : code(code.image()), schedule(report.schedule), order(report.order), tileQ(report.tileQ), tileKv(report.tileKv),
      remarks(report.remarks) {}

void CachedCode::fill(CompileReport &report) const {
  report.schedule = schedule;
  report.order = order;
  report.tileQ = tileQ;
  report.tileKv = tileKv;
  report.remarks = remarks;
}

std::string CachedCode::serialize() const {
  std::vector<std::string> descriptors;
  for (const LaunchDescriptor &launch : code.launches)
    descriptors.push_back(launch.toJson());
  json::Object header{{"runs_host", code.runsHost},
                      {"schedule", schedule},
                      {"order", order},
                      {"tile_q", tileQ},
                      {"tile_kv", tileKv},
                      {"kernels", toArray(code.kernels)},
                      {"remarks", toArray(remarks)},
                      {"descriptors", toArray(descriptors)}};
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(header)) << '\n'
                                 << llvm::StringRef(code.object.data(), code.object.size());
  return text;
}

std::optional<CachedCode> CachedCode::deserialize(const std::string &text) {
  const size_t end = text.find('\n');
  if (end == std::string::npos)
    return std::nullopt;
  llvm::Expected<json::Value> value = json::parse(llvm::StringRef(text).take_front(end));
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *header = value->getAsObject();
  CachedCode cached;
  std::vector<std::string> descriptors;
  if (!header || !header->getBoolean("runs_host") || !header->getString("schedule") || !header->getString("order") ||
      !header->getInteger("tile_q") || !header->getInteger("tile_kv") ||
      !fromArray(*header, "kernels", cached.code.kernels) || !fromArray(*header, "remarks", cached.remarks) ||
      !fromArray(*header, "descriptors", descriptors))
    return std::nullopt;
  for (const std::string &descriptor : descriptors) {
    Expected<LaunchDescriptor> launch = LaunchDescriptor::fromJson(descriptor);
    if (!launch)
      return std::nullopt;
    cached.code.launches.push_back(std::move(*launch));
  }
  cached.code.runsHost = *header->getBoolean("runs_host");
  cached.schedule = header->getString("schedule")->str();
  cached.order = header->getString("order")->str();
  cached.tileQ = *header->getInteger("tile_q");
  cached.tileKv = *header->getInteger("tile_kv");
  cached.code.object.assign(text.begin() + static_cast<std::ptrdiff_t>(end) + 1, text.end());
  return cached;
}

CodeCache::CodeCache(const Program &program, const CompileOptions &options) {
  if (options.cacheDirectory.empty()) {
    text = "off";
    return;
  }
  if (!options.dump.empty()) {
    text = "not used: stages are dumped";
    return;
  }
  Expected<KernelCache> opened = KernelCache::open(options.cacheDirectory);
  if (!opened) {
    text = "not used: " + opened.message();
    return;
  }
  cache = std::move(*opened);
  key = keyOf(program, options);
}

std::optional<CachedCode> CodeCache::load() {
  std::optional<std::string> contents = cache->load(key);
  std::optional<CachedCode> code = contents ? CachedCode::deserialize(*contents) : std::nullopt;
  text = code ? "hit" : "miss";
  return code;
}

void CodeCache::store(const CachedCode &code) {
  if (!cache)
    return;
  if (Status status = cache->store(key, code.serialize()); !status)
    text = "miss, not stored: " + status.message();
}

} // namespace fa::execution
