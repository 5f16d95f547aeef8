// Packages: what is read, which form of code is loaded, and what is refused.
#include "fa/Runtime/Package.h"
#include "TemporaryFolder.h"
#include "fa/Support/File.h"
#include <gtest/gtest.h>

using namespace fa;
using namespace fa::runtime;
using fa::test::TemporaryFolder;

namespace {
constexpr const char *signature = R"({"version": 1, "function": "f", "arguments": [
  {"tensor": "x", "type": "f32", "sizes": [4], "strides": [1], "output": true}]})";
constexpr const char *descriptor =
    R"({"version": 1, "entry": "k", "abi": "ptx", "grid": [1], "args": [{"pointer": "x"}]})";

/// Takes one kind of image; a launch takes one second.
class PickyDriver : public Driver {
public:
  explicit PickyDriver(ModuleImage::Kind wanted) : wanted(wanted) {}
  std::string describe() const override { return "a picky device"; }
  std::string abi() const override { return "ptx"; }
  Expected<DeviceAddress> allocate(size_t) override { return DeviceAddress(256); }
  Status release(DeviceAddress) override { return Status::success(); }
  Status copyToDevice(DeviceAddress, const void *, size_t) override { return Status::success(); }
  Status copyToHost(void *, DeviceAddress, size_t) override { return Status::success(); }
  Expected<std::unique_ptr<Module>> loadModule(const ModuleImage &image) override {
    if (image.kind != wanted)
      return makeError("not my kind");
    loaded = image.data;
    return std::make_unique<Module>();
  }
  Expected<double> launch(Module &, const LaunchDescriptor &, const Bindings &) override { return 1.0; }
  std::string loaded;

private:
  ModuleImage::Kind wanted;
};

class PackageTest : public testing::Test {
protected:
  TemporaryFolder folder;
  void write(const std::string &name, const std::string &text) {
    EXPECT_TRUE(writeFileAtomically(folder.path(name), {text}));
  }
  void writeAll() {
    write("signature.json", signature);
    write("launches.txt", "k\n");
    write("k.json", descriptor);
    write("k.ptx", "text");
  }
  Expected<Package> read() { return Package::read(folder.path("")); }
  std::string errorOf(const Expected<Package> &package) { return package ? "" : package.message(); }
};
} // namespace

TEST_F(PackageTest, FormsInOrder) {
  writeAll();
  write("k.cubin", "elf");
  Expected<Package> package = read();
  ASSERT_TRUE(package) << package.message();
  EXPECT_EQ(package->signature.function, "f");
  for (const auto &[kind, form, data] :
       {std::tuple(ModuleImage::Kind::Cubin, "cubin", "elf"), std::tuple(ModuleImage::Kind::Ptx, "ptx", "text")}) {
    PickyDriver driver(kind);
    Expected<LoadedPackage> loaded = LoadedPackage::load(*package, driver);
    ASSERT_TRUE(loaded) << loaded.message();
    EXPECT_EQ(loaded->form(), form);
    EXPECT_EQ(driver.loaded, data);
    EXPECT_EQ(*loaded->run({}), 1.0);
  }
  PickyDriver driver(ModuleImage::Kind::Cubin);
  EXPECT_FALSE(LoadedPackage::load(*package, driver, "ptx"));
  PickyDriver none(ModuleImage::Kind::SharedObject);
  Expected<LoadedPackage> refused = LoadedPackage::load(*package, none);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.message(), "kernel 'k': expected code that a picky device takes, but got cubin: not my kind; ptx: "
                               "not my kind");
}

TEST_F(PackageTest, TwoLaunchesAddUp) {
  writeAll();
  write("launches.txt", "k\nk\n");
  Expected<Package> package = read();
  ASSERT_TRUE(package) << package.message();
  PickyDriver driver(ModuleImage::Kind::Ptx);
  Expected<LoadedPackage> loaded = LoadedPackage::load(*package, driver);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded->run({}), 2.0);
}

TEST_F(PackageTest, SharedObjectsAreNamedByPath) {
  writeAll();
  write("k.so", "not read");
  Expected<Package> package = read();
  ASSERT_TRUE(package) << package.message();
  PickyDriver driver(ModuleImage::Kind::SharedObject);
  ASSERT_TRUE(LoadedPackage::load(*package, driver));
  EXPECT_TRUE(driver.loaded.ends_with("k.so")) << driver.loaded;
}

TEST_F(PackageTest, Refusals) {
  EXPECT_NE(errorOf(Package::read(folder.path("absent"))).find("expected a package"), std::string::npos);
  EXPECT_NE(errorOf(read()).find("signature.json"), std::string::npos);
  writeAll();
  write("signature.json", R"({"version": 2, "function": "f", "arguments": []})");
  EXPECT_NE(errorOf(read()).find("version 2; update the runtime"), std::string::npos) << errorOf(read());
  write("signature.json", signature);
  write("launches.txt", "\n");
  EXPECT_NE(errorOf(read()).find("launches.txt: expected the name of a kernel"), std::string::npos);
  write("launches.txt", "other\n");
  EXPECT_NE(errorOf(read()).find("other.json"), std::string::npos);
  write("other.json", descriptor);
  EXPECT_NE(errorOf(read()).find("other.ptx, .cubin or .so"), std::string::npos) << errorOf(read());
  write("other.json", "{");
  EXPECT_NE(errorOf(read()).find("other.json: expected a launch descriptor in JSON"), std::string::npos)
      << errorOf(read());
}
