"""The tables of the CPU benchmark."""
from rows import requirements


def _unit(entry):
    return ("GB/s", "gbytes") if entry["name"] == "decode" else ("GFLOP/s", "gflops")


def _cells(entry, peers):
    unit, key = _unit(entry)
    verdict = ""
    if entry["least_share"] is not None:
        verdict = ("pass" if entry["share"] >= entry["least_share"] else "MISS") + f" (>= {100 * entry['least_share']:.0f} %)"
    share = f"{100 * entry['share']:.1f} % ({100 * entry['share_quartile']:.1f}) of {entry['limit_rate']:.0f} {entry['limit']}"
    if "dot_share" in entry:
        share += f", {100 * entry['dot_share']:.0f} % of {entry['dot_rate']:.0f} bf16 dot"
        if entry["least_dot_share"] is not None:
            verdict = ("pass" if entry["dot_share"] >= entry["least_dot_share"] else "MISS") + \
                      f" (>= {100 * entry['least_dot_share']:.0f} % of bf16 dot)"
    cells = [entry["label"], f"{entry[key]['fa']:.1f} {unit}", share, verdict]
    cells += [f"{entry[key][name]:.1f}" if name in entry[key] else "" for name in peers]
    cells += [f"{entry[key]['fa'] / entry[key][name]:.2f}" if name in entry[key] else "" for name in peers]
    return cells


def row_line(entry, peers):
    return "| " + " | ".join(_cells(entry, peers)) + " |"


def _table(head, lines):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines]


def markdown(results):
    """Two tables: what must be reached, and every row."""
    peers = results["peers"]
    verdicts = [f"| {what} | {value} | {bound} | {'pass' if holds else 'MISS'} |"
                for what, value, bound, holds in requirements(results)]
    head = ["problem", "this compiler", "share of peak", "must reach", *[f"{name} {version}" for name, version in peers.items()],
            *[f"ours / {name}" for name in peers]]
    lines = [f"Measured on {results['cpu']}, {results['cores']} cores: wall clock, medians, rates in GFLOP/s (decode: GB/s). Beside each share of the peak, the one that a quarter of the turns reached or exceeded.", ""]
    lines += _table(head, [row_line(entry, peers) for entry in results["rows"] if entry["name"] != "rate"])
    lines += ["", *_table(["requirement", "measured", "bound", ""], verdicts)]
    return "\n".join(lines) + "\n"
