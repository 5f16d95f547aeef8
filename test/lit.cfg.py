"""lit configuration: FileCheck tests (.mlir, .test) and GoogleTest binaries under one count."""
import os
import shutil
import subprocess

import lit.formats

config.name = "fa"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt", "Unit"]
config.test_source_root = os.path.join(config.fa_source_dir, "test")
config.test_exec_root = os.path.join(config.fa_binary_dir, "test")
config.test_format = lit.formats.ShTest(execute_external=False)

full = bool(lit_config.params.get("full"))
if full:
    config.available_features.add("full")
    config.environment["FA_TEST_FULL"] = "1"
if config.compiler_enabled:
    config.available_features.add("compiler")
if config.sanitizers:
    config.available_features.add("sanitizers")
if subprocess.run([config.python, "-c", "import numpy"], capture_output=True).returncode == 0:
    config.available_features.add("numpy")
if shutil.which("nvcc") and not config.sanitizers:
    config.available_features.add("nvcc")
if shutil.which("clang-format-22"):
    config.available_features.add("clang-format")
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
try:
    with open("/proc/cpuinfo") as cpuinfo:
        flags = next((line.split() for line in cpuinfo if line.startswith("flags")), [])
    if "avx2" in flags and "fma" in flags:
        config.available_features.add("avx2")
except OSError:
    pass

tool_dirs = [os.path.join(config.fa_binary_dir, "bin"), config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(tool_dirs + [os.environ.get("PATH", "")])
config.environment["PYTHONPATH"] = os.path.join(config.fa_source_dir, "python")
config.environment["XDG_CACHE_HOME"] = os.path.join(config.fa_binary_dir, "test", "cache")
if config.sanitizers:
    # Headers of LLVM's allocator poison memory in our code; the library, which is not instrumented, then writes to it.
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"
    # Otherwise undefined behaviour is one line on standard error, and the test passes.
    config.environment["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%source_dir", config.fa_source_dir))
config.substitutions.append(("%build_dir", config.fa_binary_dir))
config.substitutions.append(("%llvm_tools", config.llvm_tools_dir))
config.substitutions.append(("%python", config.python))
