"""expect_exit.py CODE COMMAND...: succeeds when the command's exit code is CODE; its output passes through."""
import subprocess
import sys

code = subprocess.run(sys.argv[2:], stderr=subprocess.STDOUT).returncode
if code != int(sys.argv[1]):
    sys.exit(f"expected exit code {sys.argv[1]}, but got {code}")
