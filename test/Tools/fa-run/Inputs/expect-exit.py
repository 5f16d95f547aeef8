"""expect-exit.py CODE COMMAND...: runs the command, prints what it prints, and succeeds only if it exits with CODE."""
import subprocess
import sys

result = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
print(result.stdout, end="")
if result.returncode != int(sys.argv[1]):
    sys.exit(f"expected exit code {sys.argv[1]}, but got {result.returncode}")
