"""lit configuration of the GoogleTest binaries."""
import os

import lit.formats

config.name = "fa-unit"
config.suffixes = []
config.test_exec_root = os.path.join(config.fa_binary_dir, "test", "Unit")
config.test_source_root = config.test_exec_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
if lit_config.params.get("full"):
    config.environment["FA_TEST_FULL"] = "1"
config.environment["FA_SOURCE_DIR"] = config.fa_source_dir
# As in test/lit.cfg.py; nothing without sanitizers.
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "allow_user_poisoning=0")
config.environment["UBSAN_OPTIONS"] = os.environ.get("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
