"""sweep.py FLAG=V1,V2,... ARGS...: fa-run with each value of FLAG; prints which passed their check."""
import subprocess
import sys

flag, values = sys.argv[1].rsplit("=", 1)
for value in values.split(","):
    done = subprocess.run(["fa-run", "%s=%s" % (flag, value)] + sys.argv[2:], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s=%s\n%s%s" % (flag, value, done.stdout, done.stderr))
    print("%s=%s passed" % (flag, value))
