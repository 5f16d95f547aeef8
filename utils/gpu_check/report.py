"""Lines and tables for people."""
from . import matrix

CONVENTION = ("forward, bf16, 16384 tokens in all (batch = 16384 / length), heads = 2048 / depth; 4 N^2 D H B operations, half of "
              "it where causal; time on the device's clock, median of single launches after a warm-up")
SMALL = "one head of 256 rows: this shows that the benchmarks run, not how fast anything is"
PEERS = ("cudnn", "flash", "flex")


def check_line(result):
    state = "ok" if result["passed"] else "skip" if result["skipped"] else "FAIL"
    detail = result["error"] or "; ".join(
        "%(tensor)s: max error %(max_error)s (bar %(max_bar).3g), rms %(rms_error)s (bar %(rms_bar).3g), %(mismatches)d mismatches" % check
        for check in result["checks"] if not check["passed"])
    return "%-4s %s: %s %s" % (state, result["name"], result["what"], detail)


def measured_line(result):
    if "tflops" in result:
        return "%-40s %8.2f TFLOP/s  %9.3f ms" % (result["name"], result["tflops"], result["median_s"] * 1e3)
    state = "not in this build" if result["unavailable"] else "skipped" if result["skipped"] else "FAIL"
    return "%-40s %s: %s" % (result["name"], state, result["error"])


def failures(results):
    """Checks and measurements that did not pass; a variant that the compiler does not have is none."""
    bad = [result for result in results["checks"] if not result["passed"]]
    bad += [result for result in results["table"] + results["variants"] if "tflops" not in result and not result["unavailable"]]
    return len(bad)


def rate(value):
    return "-" if value is None else "%.0f" % value if value >= 100 else "%.3g" % value


def render(header, rows):
    rows = [header] + rows
    widths = [max(len(str(row[n])) for row in rows) for n in range(len(header))]
    lines = ["  ".join(str(cell).ljust(width) if n == 0 else str(cell).rjust(width)
                       for n, (cell, width) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0])] + lines[1:])


def main_table(results):
    peers = {(line["peer"], line["name"]): line.get("tflops") for line in results["peers"] if "name" in line}
    rows = []
    for result in results["table"]:
        published = matrix.PUBLISHED[(result["depth"], result["causal"])]
        index = matrix.TABLE_LENGTHS.index(result["length"]) if result["length"] in matrix.TABLE_LENGTHS else None
        others = published[index] if index is not None else (None,) * 4
        rows.append([result["name"], rate(result.get("tflops"))] + [rate(peers.get((peer, result["name"]))) for peer in PEERS] +
                    [rate(other) for other in others])
    header = ["TFLOP/s", "ours", "cuDNN", "flash", "flex", "FA2*", "Triton*", "cuDNN*", "FA3*"]
    return render(header, rows) + "\n* published for H100 by others"


def variant_table(results):
    """Each variant beside the default of the same shape."""
    base = {result["name"].split(", ")[0]: result.get("tflops") for result in results["variants"] if result["variant"] == "default"}
    rows = []
    for result in results["variants"]:
        default = base.get(result["name"].split(", ")[0])
        own = result.get("tflops")
        against = "%+.1f %%" % (100 * (own / default - 1)) if own and default else "-"
        rows.append([result["name"], rate(own), against])
    return render(["TFLOP/s", "rate", "against default"], rows)


def tables(results):
    passed = sum(result["passed"] for result in results["checks"])
    parts = ["%s: %d of %d checks passed" % (results.get("device_name") or results["device"], passed, len(results["checks"]))]
    if results["table"]:
        parts += results["notes"] + [main_table(results)]
    if results["variants"]:
        parts.append(variant_table(results))
    return "\n\n".join(parts)
