// Compile, load, call: through the packed entry, for the host and for other machines.
#include "fa/Runtime/CPU/HostCpu.h"
#include "fa/Target/CPU/FindCpu.h"
#include "fa/Target/CPU/JitModule.h"
#include "fa/Target/CPU/PackedEntry.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;

namespace {

// out[block] = scale * exp(in[block]); descriptors are {allocated, aligned, offset, size, stride}.
constexpr const char *scaledExp = R"mlir(
llvm.func @expf(f32) -> f32
llvm.func @_mlir_ciface_k(%b: i64, %in: !llvm.ptr, %scale: f32, %out: !llvm.ptr) {
  %pin = llvm.getelementptr %in[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64)>
  %pout = llvm.getelementptr %out[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, i64)>
  %vin = llvm.load %pin : !llvm.ptr -> !llvm.ptr
  %vout = llvm.load %pout : !llvm.ptr -> !llvm.ptr
  %ein = llvm.getelementptr %vin[%b] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %eout = llvm.getelementptr %vout[%b] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %ein : !llvm.ptr -> f32
  %e = llvm.call @expf(%x) : (f32) -> f32
  %y = llvm.fmul %e, %scale : f32
  llvm.store %y, %eout : f32, !llvm.ptr
  llvm.return
}
)mlir";

struct Descriptor {
  void *allocated, *aligned;
  int64_t offset, size, stride;
};

class TargetCPU : public testing::Test {
protected:
  TargetCPU() { context.loadDialect<LLVM::LLVMDialect>(); }
  OwningOpRef<ModuleOp> parse(llvm::StringRef text) { return parseSourceString<ModuleOp>(text, &context); }
  std::string firstError(llvm::function_ref<LogicalResult()> action) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    EXPECT_TRUE(failed(action()));
    return message;
  }
  static void call(void *address, float scale, float *in, float *out) {
    Descriptor input{in, in, 0, 4, 1}, output{out, out, 0, 4, 1};
    void *arguments[] = {&input, &scale, &output};
    for (int64_t block = 0; block < 4; ++block)
      reinterpret_cast<void (*)(int64_t, void **)>(address)(block, arguments);
  }
  MLIRContext context;
};

TEST_F(TargetCPU, CallsThePackedEntryInThisProcess) {
  auto module = parse(scaledExp);
  ASSERT_TRUE(succeeded(emitPackedEntry(*module, "k")));
  for (unsigned irLevel : {0u, 2u}) {
    CpuOptions options;
    options.irLevel = irLevel;
    auto object = compileToObject(*module, options);
    ASSERT_TRUE(succeeded(object));
    auto jit = JitModule::load(*object);
    ASSERT_TRUE(bool(jit)) << jit.message();
    auto entry = (*jit)->lookup(packedEntryName("k"));
    ASSERT_TRUE(bool(entry)) << entry.message();
    float in[] = {0, 1, 2, -1}, out[4] = {};
    call(*entry, 3.0f, in, out);
    for (int i = 0; i < 4; ++i)
      EXPECT_FLOAT_EQ(out[i], 3.0f * std::exp(in[i]));
  }
}

TEST_F(TargetCPU, SharedObjectRunsWithoutTheJit) {
  auto module = parse(scaledExp);
  ASSERT_TRUE(succeeded(emitPackedEntry(*module, "k")));
  auto object = compileToObject(*module);
  ASSERT_TRUE(succeeded(object));
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("fa-test", "so", path));
  ASSERT_TRUE(succeeded(linkSharedObject(module->getLoc(), *object, path)));
  void *library = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  void *entry = dlsym(library, packedEntryName("k").c_str());
  ASSERT_NE(entry, nullptr);
  float in[] = {0, 1, 2, -1}, out[4] = {};
  call(entry, 1.0f, in, out);
  EXPECT_FLOAT_EQ(out[2], std::exp(2.0f));
  dlclose(library);
  llvm::sys::fs::remove(path);
}

TEST_F(TargetCPU, CompilesForAnotherArchitecture) {
  auto module = parse(scaledExp);
  CpuOptions options;
  options.triple = "aarch64-unknown-linux-gnu";
  options.cpu = "neoverse-v1";
  auto object = compileToObject(*module, options);
  ASSERT_TRUE(succeeded(object));
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object->data(), object->size()), "kernel"));
  ASSERT_TRUE(bool(file));
  EXPECT_EQ((*file)->getArch(), llvm::Triple::aarch64);
  auto loaded = JitModule::load(*object);
  ASSERT_FALSE(bool(loaded));
  EXPECT_NE(loaded.message().find("but got one for aarch64"), std::string::npos) << loaded.message();
}

TEST_F(TargetCPU, RefusesNamesThatLLVMDoesNotKnow) {
  Location loc = UnknownLoc::get(&context);
  auto errorOf = [&](CpuOptions options) {
    return firstError([&] { return LogicalResult(createTargetMachine(loc, options)); });
  };
  CpuOptions options;
  options.cpu = "pentium-99";
  EXPECT_NE(errorOf(options).find("but got 'pentium-99'"), std::string::npos);
  options = {};
  options.triple = "nosuch-unknown-linux";
  EXPECT_NE(errorOf(options).find("expected a target triple of this LLVM"), std::string::npos);
  options = {};
  options.features = "avx2";
  EXPECT_NE(errorOf(options).find("but got 'avx2'"), std::string::npos);
  options.features = "+warp-drive";
  EXPECT_NE(errorOf(options).find("but got '+warp-drive'"), std::string::npos);
  options = {};
  options.codegenLevel = 4;
  EXPECT_NE(errorOf(options).find("expected optimization levels from 0 to 3"), std::string::npos);
}

TEST_F(TargetCPU, ListsFeaturesOfANamedCpu) {
  CpuOptions options;
  options.triple = "x86_64-unknown-linux-gnu";
  options.cpu = "haswell";
  auto names = enabledFeatures(UnknownLoc::get(&context), options);
  ASSERT_TRUE(succeeded(names));
  EXPECT_TRUE(llvm::is_contained(*names, "avx2"));
  EXPECT_FALSE(llvm::is_contained(*names, "avx512f"));
}

TEST_F(TargetCPU, FindsCpusByName) {
  Location loc = UnknownLoc::get(&context);
  auto host = findCpu(loc, "host");
  ASSERT_TRUE(succeeded(host));
  EXPECT_TRUE(host->cpu.empty());
  for (auto [name, architecture] : {std::pair("x86-64", "x86_64"),
                                    {"x86-64-v4", "x86_64"},
                                    {"znver4", "x86_64"},
                                    {"aarch64", "aarch64"},
                                    {"neoverse-v1", "aarch64"}}) {
    auto found = findCpu(loc, name);
    ASSERT_TRUE(succeeded(found)) << name;
    auto target = architectureOf(loc, *found);
    ASSERT_TRUE(succeeded(target)) << name;
    EXPECT_EQ(*target, architecture) << name;
  }
  auto errorOf = [&](StringRef name) { return firstError([&] { return LogicalResult(findCpu(loc, name)); }); };
  EXPECT_EQ(errorOf("haswel"),
            "expected the name of an x86-64 or AArch64 CPU, but got 'haswel'; did you mean haswell?");
  EXPECT_NE(errorOf("x86-64-v5").find("did you mean x86-64-v2, x86-64-v3, x86-64-v4?"), std::string::npos)
      << errorOf("x86-64-v5");
  EXPECT_NE(errorOf("Turing").find("; known are host, x86-64,"), std::string::npos) << errorOf("Turing");
  EXPECT_NE(errorOf("i386").find("but got 'i386'"), std::string::npos) << "32-bit CPUs are no target";
}

/// The runtime asks the CPU, LLVM asks it too: both must see the same, and the runtime's list must have every feature
/// that instruction selection uses on its own.
TEST_F(TargetCPU, TheRuntimeChecksWhatCodeUses) {
  llvm::StringSet<> checked, llvmHost, runtimeHost;
  for (const std::string &feature : ::fa::runtime::checkableFeatures())
    checked.insert(feature);
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    if (feature.getValue() && checked.contains(feature.getKey()))
      llvmHost.insert(feature.getKey());
  for (const std::string &feature : ::fa::runtime::hostFeatures())
    runtimeHost.insert(feature);
  for (const auto &entry : checked)
    EXPECT_EQ(llvmHost.contains(entry.getKey()), runtimeHost.contains(entry.getKey())) << entry.getKey().str();

  llvm::StringSet<> others;
  // Every x86-64 CPU has these.
  for (StringRef name : {"cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"})
    others.insert(name);
  // Used through intrinsics, or by operating systems: kernels have none of them.
  for (StringRef name :
       {"aes",      "amx-avx512", "amx-bf16", "amx-complex", "amx-fp16",  "amx-fp8",   "amx-int8",   "amx-movrs",
        "amx-tf32", "amx-tile",   "cldemote", "clflushopt",  "clwb",      "clzero",    "cmpccxadd",  "enqcmd",
        "fsgsbase", "hreset",     "invpcid",  "kl",          "lwp",       "movdir64b", "movdiri",    "movrs",
        "mwaitx",   "pclmul",     "pconfig",  "pku",         "prefetchi", "prfchw",    "ptwrite",    "rdpid",
        "rdpru",    "rdrnd",      "rdseed",   "serialize",   "sgx",       "sha",       "sha512",     "shstk",
        "sm3",      "sm4",        "tsxldtrk", "uintr",       "usermsr",   "vaes",      "vpclmulqdq", "waitpkg",
        "wbnoinvd", "widekl",     "xsave",    "xsavec",      "xsaveopt",  "xsaves"})
    others.insert(name);
  // Packages for CPUs with these are refused.
  for (StringRef name : {"avx10.2", "ccmp", "egpr", "ndd", "nf", "ppx", "push2pop2", "zu"})
    others.insert(name);
  llvm::SmallVector<StringRef> cpus;
  llvm::X86::fillValidCPUArchList(cpus, /*Only64Bit=*/true);
  for (StringRef cpu : cpus) {
    llvm::SmallVector<StringRef> features;
    llvm::X86::getFeaturesForCPU(cpu, features);
    for (StringRef feature : features)
      EXPECT_TRUE(checked.contains(feature) || others.contains(feature)) << cpu.str() << ": " << feature.str();
  }
}

TEST_F(TargetCPU, RefusesKernelsItCannotPack) {
  auto none = parse("llvm.func @f() { llvm.return }");
  EXPECT_EQ(firstError([&] { return emitPackedEntry(*none, "k"); }),
            "expected a kernel 'k' with a C interface, but got none");
  auto noBlock = parse("llvm.func @_mlir_ciface_k(%p: !llvm.ptr) { llvm.return }");
  EXPECT_NE(firstError([&] { return emitPackedEntry(*noBlock, "k"); }).find("first argument is the block id"),
            std::string::npos);
  auto result = parse("llvm.func @_mlir_ciface_k(%b: i64) -> i64 { llvm.return %b : i64 }");
  EXPECT_NE(firstError([&] { return emitPackedEntry(*result, "k"); }).find("kernel without results"),
            std::string::npos);
}

TEST_F(TargetCPU, ReportsWhatTheObjectLacks) {
  EXPECT_FALSE(bool(JitModule::load(llvm::ArrayRef<char>("not an object", 13))));
  auto module = parse(scaledExp);
  auto object = compileToObject(*module);
  ASSERT_TRUE(succeeded(object));
  auto jit = JitModule::load(*object);
  ASSERT_TRUE(bool(jit));
  auto entry = (*jit)->lookup("absent");
  ASSERT_FALSE(bool(entry));
  EXPECT_NE(entry.message().find("'absent'"), std::string::npos);
}

} // namespace
