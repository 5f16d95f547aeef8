"""Calls of fa-launch, each in a process of its own with a time limit: one that hangs or crashes loses nothing else."""
import json
import signal
import subprocess
import time


class Clock:
    """What is left of the time for everything."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


class Launcher:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.clock = Clock(options.budget)

    def start(self, package, flags):
        command = [str(self.folder / "bin" / "fa-launch"), str(self.folder / "packages" / package),
                   "--device=" + self.options.device, "--format=json", *flags]
        if self.options.device == "emulator":
            command.append("--threads=1")
        return command

    def run(self, package, flags):
        """The report of one launch as a dictionary with `passed`; `error` when there is no report."""
        limit = min(self.options.timeout, self.clock.left())
        if limit <= 1:
            return dict(passed=False, skipped=True, error="not run: the time budget is used up")
        return run_json(self.start(package, flags), limit)


def run_json(command, limit):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            pass  # stuck in the driver: left to the system
        return dict(passed=False, error="no answer within %.0f s" % limit)
    try:
        return json.loads(out)
    except ValueError:
        pass
    lines = err.strip().splitlines()
    reason = lines[0] if lines else "no output"
    if process.returncode < 0:
        reason = "%s (%s)" % (reason, signal.Signals(-process.returncode).name)
    return dict(passed=False, error=reason)
