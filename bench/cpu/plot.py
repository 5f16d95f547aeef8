"""The benchmark as one SVG: a panel for every type, depth and mask with a line for every system, the machine's limit dashed, and
bars for decoding. No library needed."""
from xml.sax.saxutils import escape

COLOURS = {"fa": "#0b57d0", "OpenBLAS": "#b45f06", "oneDNN": "#0f7b4f", "PyTorch": "#a61e69"}
LIMIT, INK, SOFT, GRID = "#444b54", "#1f2328", "#59636e", "#e4e8ec"
FONT = 'font-family="Inter, Helvetica, Arial, sans-serif"'
PANEL, HEIGHT, GAP_X, GAP_Y, LEFT, TOP = 222, 168, 30, 62, 62, 130


def _text(x, y, text, size=12, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}" '
            f'{FONT}>{escape(text)}</text>')


def _line(x1, y1, x2, y2, colour, width=1.0, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{dashes}/>'


def _median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0


def _axis(x, y, top, step, labels):
    parts = []
    value = 0
    while value <= top:
        level = y + HEIGHT * (1 - value / top)
        parts.append(_line(x, level, x + PANEL, level, GRID))
        if labels:
            parts.append(_text(x - 8, level + 4, f"{value:.0f}", 11, "end", SOFT))
        value += step
    return parts


def _panel(entries, systems, title, x, y, top, lengths, labels):
    parts = [_text(x, y - 12, title, 13, weight="600"), *_axis(x, y, top, 50, labels)]
    place = {n: x + PANEL * (i + 0.5) / len(lengths) for i, n in enumerate(lengths)}
    level = lambda rate: y + HEIGHT * (1 - rate / top)
    for n in lengths:
        parts.append(_text(place[n], y + HEIGHT + 17, str(n), 11, "middle", SOFT))
    limit = _median([entry["limit_rate"] for entry in entries])
    parts.append(_line(x, level(limit), x + PANEL, level(limit), LIMIT, 1.4, "6 4"))
    parts.append(_text(x + PANEL, level(limit) - 5, f"peak {limit:.0f}", 11, "end", LIMIT))
    for system in reversed(systems):
        points = [(place[e["n"]], level(e["gflops"][system])) for e in entries if system in e["gflops"]]
        if not points:
            continue
        width, radius = (3.0, 4.2) if system == "fa" else (1.8, 3.0)
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[system]}" stroke-width="{width}" '
                     'stroke-linejoin="round" stroke-linecap="round"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{radius}" fill="{COLOURS[system]}" stroke="white" stroke-width="1.2"/>'
                  for px, py in points]
    parts.append(_line(x, y + HEIGHT, x + PANEL, y + HEIGHT, SOFT))
    return parts


def _decode(entries, systems, y):
    """Horizontal bars: bytes of keys and values in a second, one query against a long cache."""
    parts = [_text(LEFT, y, "Decoding: one query, 8192 keys, 32 heads over 8, depth 128 (GB/s of keys and values)", 13, weight="600")]
    highest = max(rate for entry in entries for rate in entry["gbytes"].values())
    width = 4 * PANEL + 3 * GAP_X - 130
    y += 16
    for entry in entries:
        present = [system for system in systems if system in entry["gbytes"]]
        block = 15 * len(present)
        label = f"{entry['dtype']}, {entry['threads']} thread" + ("s" if entry["threads"] > 1 else "")
        parts.append(_text(LEFT + 82, y + block / 2 + 4, label, 12, "end"))
        for i, system in enumerate(present):
            length = width * entry["gbytes"][system] / (1.08 * highest)
            parts.append(f'<rect x="{LEFT + 92}" y="{y + 15 * i}" width="{length:.1f}" height="12" rx="2" fill="{COLOURS[system]}"/>')
            parts.append(_text(LEFT + 98 + length, y + 15 * i + 10, f"{entry['gbytes'][system]:.1f}", 11, colour=SOFT))
        y += block + 12
    return parts, y


def write_svg(results):
    """`results` is what bench.py writes as JSON; panels without rows are left out."""
    systems = ["fa", *[name for name in results["peers"] if name in COLOURS]]
    prefill = [entry for entry in results["rows"] if entry["name"] == "prefill" and entry["dtype"] != "f64"]
    lengths = sorted({entry["n"] for entry in prefill})
    top = 1.12 * max([entry["limit_rate"] for entry in prefill] + [r for e in prefill for r in e["gflops"].values()], default=100)
    names = {"fa": "this compiler", **{name: f"{name} {version}" for name, version in results["peers"].items()}}
    total = LEFT + 4 * PANEL + 3 * GAP_X + 24
    parts = [_text(LEFT, 34, "Attention on one core: GFLOP/s over sequence length", 19, weight="600"),
             _text(LEFT, 55, f"{results['cpu']}, {results['cores']} cores; medians, wall clock, one head, all in one run", 12, colour=SOFT)]
    x = LEFT
    for system in systems:
        parts.append(_line(x, 78, x + 22, 78, COLOURS[system], 3.0 if system == "fa" else 2.0))
        parts.append(f'<circle cx="{x + 11}" cy="78" r="4" fill="{COLOURS[system]}" stroke="white" stroke-width="1.2"/>')
        parts.append(_text(x + 29, 82, names[system], 12, weight="600" if system == "fa" else "normal"))
        x += 52 + 7.2 * len(names[system])
    parts += [_line(x, 78, x + 22, 78, LIMIT, 1.4, "6 4"), _text(x + 29, 82, "the machine: multiply-adds in f32", 12)]
    y = TOP
    for dtype in ("f32", "bf16"):
        row = [(depth, mask) for depth in (64, 128) for mask in ("full", "causal")]
        drawn = False
        for column, (depth, mask) in enumerate(row):
            entries = sorted((e for e in prefill if (e["dtype"], e["depth"], e["mask"]) == (dtype, depth, mask)),
                             key=lambda e: e["n"])
            if entries:
                parts += _panel(entries, systems, f"{dtype}, depth {depth}, {mask}", LEFT + column * (PANEL + GAP_X), y, top, lengths,
                                column == 0)
                drawn = True
        y += (HEIGHT + GAP_Y) if drawn else 0
    decode = [entry for entry in results["rows"] if entry["name"] == "decode" and entry["depth"] == 128]
    if decode:
        bars, y = _decode(decode, systems, y + 6)
        parts += bars
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{y + 12:.0f}" viewBox="0 0 {total} {y + 12:.0f}">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n')
