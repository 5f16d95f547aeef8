"""The rows of the CPU benchmark, what each must reach, and how a row is written for fa-bench-attention."""

FULL, CAUSAL, WINDOW = "full", "causal", "window=255"


class Row:
    """One problem: batch 1, `heads` query heads over `kv_heads`, `n` queries against `nk` keys."""

    def __init__(self, name, dtype, depth, mask, n, threads=1, heads=1, kv_heads=None, nk=None, layout="bhsd"):
        self.name, self.dtype, self.depth, self.mask, self.n, self.threads = name, dtype, depth, mask, n, threads
        self.heads, self.kv_heads, self.nk, self.layout = heads, kv_heads or heads, nk or n, layout

    def pairs(self):
        """Visible (query, key) pairs of all heads; both masks end in the bottom right corner."""
        most = {FULL: self.nk, CAUSAL: self.nk, WINDOW: 256}[self.mask]
        if self.mask == FULL:
            return self.n * self.nk * self.heads
        return sum(min(max(i + self.nk - self.n + 1, 0), self.nk, most) for i in range(self.n)) * self.heads

    def operations(self):
        return 4.0 * self.depth * self.pairs()

    def bytes_read(self):
        size = {"f64": 8, "f32": 4}.get(self.dtype, 2)
        return 2.0 * self.kv_heads * self.nk * self.depth * size

    def text(self):
        """As fa-bench-attention reads it; also the key of the row in results."""
        words = [self.dtype, f"d{self.depth}", self.mask, f"n={self.n}"]
        if self.nk != self.n:
            words.append(f"keys={self.nk}")
        if self.heads > 1:
            words += [f"heads={self.heads}", f"kv_heads={self.kv_heads}"]
        if self.layout == "bshd":
            words.append("bshd")
        if self.threads > 1:
            words.append(f"threads={self.threads}")
        return " ".join(words)

    def label(self):
        size = f"N = {self.n}" if self.n == self.nk else f"{self.n} x {self.nk}"
        what = f"{self.dtype} d{self.depth} {self.mask.replace('=', ' ')} {size}"
        if self.heads > 1:
            what += f", {self.heads}/{self.kv_heads} heads, {self.layout}"
        return what + (f", {self.threads} threads" if self.threads > 1 else "")

    def least_share(self):
        """The share of the machine's limit that this row must reach, or None."""
        if self.name == "decode":
            return 0.80 if self.dtype in ("f32", "bf16") else None
        if self.name != "prefill" or self.n < 1024 or self.mask == WINDOW:
            return None
        if self.dtype == "f32":
            return 0.90 if self.mask == FULL else 0.87
        if self.dtype == "f64":
            return {FULL: 0.75 if self.depth == 64 else 0.80}.get(self.mask)
        return None

    def least_dot_share(self):
        """bf16 rows are held to a share of the bf16 dot product's rate where the CPU has one."""
        return 0.82 if self.name == "prefill" and self.dtype == "bf16" and self.n >= 1024 and self.mask != WINDOW else None


def groups(quick=False):
    """Lists of rows; those of one list take turns in one process, so that their ratios hold."""
    lengths = (1024, 4096) if quick else (512, 1024, 2048, 4096, 8192)
    result = []
    for dtype in ("f32", "bf16"):
        for depth in (64, 128):
            for n in lengths:
                result.append([Row("prefill", dtype, depth, mask, n) for mask in (FULL, CAUSAL)])
            result.append([Row("window", dtype, depth, WINDOW, 8192), Row("rate", dtype, depth, FULL, 2048)])
    result.append([Row("prefill", "f64", depth, FULL, 1024) for depth in (64, 128)])
    for depth in (64, 128):
        result.append([Row("threads", "f32", depth, CAUSAL, 2048, threads, heads=4) for threads in (1, 2)])
    result.append([Row("tail", "f32", 64, FULL, n) for n in (1000, 1023, 1024, 1025)])
    result.append([Row("layout", "f32", 64, FULL, 1024, heads=8, layout=layout) for layout in ("bhsd", "bshd")])
    for dtype in ("f32", "bf16", "f16"):
        for depth in (128, 64):
            result.append([Row("decode", dtype, depth, FULL, 1, threads, heads=32, kv_heads=8, nk=8192) for threads in (1, 2)])
    return result


def _ratio_lines(entries):
    """(what, value, bound) of requirements that compare rows of one group. Rates are compared by their shares of the
    limit, which was read beside each turn: the clock may differ between turns."""
    by_name = {}
    for entry in entries:
        by_name.setdefault(entry["name"], []).append(entry)
    for depth in (64, 128):
        pair = {e["threads"]: e["seconds"]["fa"] for e in by_name.get("threads", []) if e["depth"] == depth}
        if len(pair) == 2:
            yield f"two threads, f32 d{depth} causal N = 2048, 4 heads", pair[1] / pair[2], ">= 1.90x"
    tails = {e["n"]: e["share"] for e in by_name.get("tail", [])}
    for n in (1000, 1023, 1025):
        if 1024 in tails and n in tails:
            yield f"tail N = {n}, rate against N = 1024", tails[n] / tails[1024], ">= 0.94x"
    layouts = {e["layout"]: e["share"] for e in by_name.get("layout", [])}
    if len(layouts) == 2:
        yield "BSHD against BHSD, 8 heads", layouts["bshd"] / layouts["bhsd"], ">= 0.92x"
    for window in by_name.get("window", []):
        for rate in by_name.get("rate", []):
            if (rate["dtype"], rate["depth"]) == (window["dtype"], window["depth"]):
                yield (f"window 255 at N = 8192, {rate['dtype']} d{rate['depth']}, time against its pairs at full rate",
                       rate["share"] / window["share"], "<= 1.25x")


def requirements(results):
    """[(what, value as text, bound, pass)] of every requirement that the measured rows decide."""
    lines = []
    for entry in results["rows"]:
        for share, least, limit in ((entry["share"], entry["least_share"], entry["limit"]),
                                    (entry.get("dot_share"), entry["least_dot_share"], "bf16 dot")):
            if share is not None and least is not None:
                lines.append((f"{entry['label']}", f"{100 * share:.1f} % of {limit}", f">= {100 * least:.0f} %", share >= least))
    for what, value, bound in _ratio_lines(results["rows"]):
        limit = float(bound[3:-1])
        lines.append((what, f"{value:.2f}x", bound, value >= limit if bound[0] == ">" else value <= limit))
    for what, key, limit in (("JIT of a causal f32 d64 kernel, warm", "jit_seconds", 0.120),
                             ("kernel cache hit to callable", "cache_hit_seconds", 0.005)):
        if key in results:
            lines.append((what, f"{1e3 * results[key]:.1f} ms", f"<= {1e3 * limit:.0f} ms", results[key] <= limit))
    for entry in results["rows"]:
        slower = [name for name, seconds in entry["seconds"].items() if name != "fa" and seconds < entry["seconds"]["fa"]]
        for name in slower:
            ratio = entry["seconds"][name] / entry["seconds"]["fa"]
            lines.append((f"{entry['label']}: against {name}", f"{ratio:.2f}x", ">= 1.00x", False))
    return lines
