"""The benchmark as one SVG: a bar for every system on every row, the machine's limit as a line. No library needed."""
from xml.sax.saxutils import escape

COLOURS = ("#1f6feb", "#bf8700", "#8250df", "#57606a")
BAR, GAP, LEFT, WIDTH = 11, 10, 300, 520


def _label(entry):
    size = f"N={entry['n']}" if entry["n"] == entry["nk"] else f"{entry['n']}x{entry['nk']}"
    return f"{entry['dtype']} d{entry['depth']} {entry['mask']} {size}, {entry['threads']} thr"


def _text(x, y, text, size=11, anchor="start", colour="#24292f"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-family="sans-serif">{escape(text)}</text>')


def write_svg(results):
    """Prefill rows only: rates share one axis. `results` is what bench.py writes as JSON."""
    rows = [entry for entry in results["rows"] if entry["name"] == "prefill"]
    systems = ["fa", *results["peers"]]
    names = {"fa": "this compiler", **{name: f"{name} {version}" for name, version in results["peers"].items()}}
    highest = max([max(entry["gflops"].values()) for entry in rows] + [results["peaks"]["1"]["f32"]], default=1.0)
    scale = WIDTH / (1.1 * highest)
    parts, y = [], 62
    for entry in rows:
        parts.append(_text(LEFT - 8, y + BAR, _label(entry), anchor="end"))
        top = y
        for colour, system in zip(COLOURS, systems):
            if system not in entry["gflops"]:
                continue
            rate = entry["gflops"][system]
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{rate * scale:.1f}" height="{BAR - 1}" fill="{colour}"/>')
            parts.append(_text(LEFT + rate * scale + 4, y + BAR - 2, f"{rate:.0f}", 9))
            y += BAR
        limit = results["peaks"][str(entry["threads"])][entry["limit"]]
        x = LEFT + limit * scale
        parts.append(f'<line x1="{x:.1f}" y1="{top - 2}" x2="{x:.1f}" y2="{y}" stroke="#cf222e" stroke-width="1.5"/>')
        y += GAP
    title = f"Attention, GFLOP/s ({results['statistic']} of all runs) on {results['cpu']}"
    legend, x = [_text(10, 20, title, 14)], 10
    for colour, system in zip(COLOURS, systems):
        legend.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{colour}"/>')
        legend.append(_text(x + 17, 42, names[system]))
        x += 30 + 8 * len(names[system])
    legend.append(f'<line x1="{x}" y1="32" x2="{x}" y2="44" stroke="#cf222e" stroke-width="1.5"/>')
    legend.append(_text(x + 6, 42, "peak multiply-add rate of the type"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{y + 10}">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(legend + parts)}</svg>\n')
