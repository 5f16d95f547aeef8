"""tracks.py TRACE: prints the tracks of a Chrome trace, and whether spans of different tracks overlap in time."""
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
for name in sorted({e["args"]["name"] for e in events if e["name"] == "thread_name"}):
    print(name)
spans = sorted((e["ts"], e["ts"] + e["dur"], e["tid"]) for e in events if e["ph"] == "X")
print("overlap:", any(a[1] > b[0] and a[2] != b[2] for a, b in zip(spans, spans[1:])))
