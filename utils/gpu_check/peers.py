"""What PyTorch offers on this machine, measured for the same shapes. Nothing here is needed: what is missing is reported.

As a program, in a process of its own:  python3 -m gpu_check.peers NAME  with shapes as JSON on standard input; prints one
JSON line for each shape, so that a hang or a crash loses only what comes after it.
"""
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading


def measure(name, shapes, options, clock):
    """Yields results as dictionaries; never raises."""
    limit = min(options.peer_timeout, clock.left())
    if clock.left() < 10:  # importing PyTorch takes that long
        yield dict(peer=name, skipped=True, error="not run: the time budget is used up")
        return
    paths = [str(pathlib.Path(__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    process = subprocess.Popen([sys.executable, "-m", "gpu_check.peers", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, universal_newlines=True, env=environment)
    lines = queue.Queue()
    request = json.dumps(dict(shapes=shapes, warm_up=options.warm_up, repeat=options.repeat))

    def feed():
        try:
            process.stdin.write(request)
            process.stdin.close()
            for line in process.stdout:
                lines.put(line)
        except OSError:
            pass
        lines.put(None)

    errors = []
    threading.Thread(target=feed, daemon=True).start()
    threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True).start()
    end = type(clock)(limit)
    while True:
        try:
            line = lines.get(timeout=max(end.left(), 0.1))
        except queue.Empty:
            process.kill()
            yield dict(peer=name, error="no answer within %.0f s" % limit)
            return
        if line is None:
            break
        try:
            yield dict(json.loads(line), peer=name)
        except ValueError:
            continue  # somebody else's output
    if process.wait() != 0:
        yield dict(peer=name, error=errors[-1].strip() if errors else "exit code %d" % process.returncode)


def attention(torch, name, causal, q, k, v):
    """A function without arguments that runs one forward pass of a peer."""
    import torch.nn.functional as functional
    if name == "flex":
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        compiled = torch.compile(flex_attention, dynamic=False)
        mask = None
        if causal:
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, q.shape[2], k.shape[2], device=q.device)
        return lambda: compiled(q, k, v, block_mask=mask)
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = dict(cudnn=SDPBackend.CUDNN_ATTENTION, flash=SDPBackend.FLASH_ATTENTION)[name]

    def run():
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return run


def median_seconds(torch, run, warm_up, repeat):
    """Of single launches between two events, as fa-launch measures."""
    for _ in range(max(warm_up, 2)):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeat):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    return sorted(times)[len(times) // 2]


def serve(name):
    request = json.load(sys.stdin)
    try:
        import torch
    except ImportError as error:
        print("no PyTorch: %s" % error, file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print("PyTorch %s sees no GPU" % torch.__version__, file=sys.stderr)
        return 1
    for shape in request["shapes"]:
        result = dict(name=shape["name"], torch=torch.__version__)
        try:
            sizes = (shape["batch"], shape["heads"], shape["length"], shape["depth"])
            q, k, v = (torch.rand(sizes, device="cuda", dtype=torch.bfloat16) * 2 - 1 for _ in range(3))
            with torch.no_grad():
                run = attention(torch, name, shape["causal"], q, k, v)
                seconds = median_seconds(torch, run, request["warm_up"], request["repeat"])
            result.update(median_s=seconds, tflops=shape["flops"] / seconds / 1e12)
        except Exception as error:  # a backend that does not take this shape
            result.update(error="%s: %s" % (shape["name"], str(error).strip().splitlines()[0] if str(error) else repr(error)))
        print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
