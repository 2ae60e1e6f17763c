"""Run the side-by-side benchmark: what the orchestrator itself costs, in many systems. See benchmarks/README.md.

    python bench.py --suite scale  --peers all --n 1 10 100 --reps 3
    python bench.py --suite crash  --peers langgraph-sqlite pydantic-ai-dbos --n 100
    python bench.py --suite faults --peers all --n 100
    python bench.py --list

Every run is a fresh process of the peer's own venv against a freshly reset stub.  Before each peer's
run the floor (raw aiohttp) does the same job, so each figure has a reference taken seconds earlier on
the same, possibly busy, machine.  Rows go to out/<name>.jsonl; report.py makes the tables.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ADAPTERS = [
    HERE,
    HERE / "adapters",
    *map(pathlib.Path, filter(None, os.environ.get("BENCH_ADAPTERS", "").split(os.pathsep))),
]
FLOOR = "floor-aiohttp"
CREWAI_OFF = ("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "CREWAI_DISABLE_VERSION_CHECK")
HEADER = re.compile(r"^# bench-peer:\s*(.*)$", re.MULTILINE)


# ------------------------------------------------------------------ peers
def load_peers() -> dict[str, dict]:
    """Each adapter names its peers in '# bench-peer: key=value ...' lines at its top.

    name, label; venv (under $BENCH_VENVS or ./venvs) or python (a path) or cmd (any command line);
    variant (passed through); durable=1 (takes part in the crash suite); calls (LLM calls per worker, 2);
    dialect (a file beside the adapter that tells the stub how this system's prompts are read)."""
    peers = {}
    for path in sorted(path for folder in ADAPTERS for path in folder.glob("*.py")):
        for m in HEADER.finditer(path.read_text()):
            p = dict(kv.split("=", 1) for kv in shlex.split(m[1]))
            p["path"] = str(path)
            p.setdefault("label", p["name"])
            if "dialect" in p:
                p["dialect"] = str(path.parent / p["dialect"])
            p["calls"] = int(p.get("calls", 2))
            peers[p["name"]] = p
    return peers


def python_of(peer: dict) -> str:
    if "python" in peer:
        return peer["python"]
    for root in (os.environ.get("BENCH_VENVS", str(HERE / "venvs")), str(HERE / "venvs")):
        cand = pathlib.Path(root) / peer.get("venv", "stub") / "bin" / "python"
        if cand.exists():
            return str(cand)
    raise SystemExit(f"no venv for {peer['name']} (see README.md)")


def clean_env(scratch: pathlib.Path, extra: dict | None = None) -> dict:
    """Nothing of the caller's environment leaks in; telemetry is off everywhere."""
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": str(scratch),
        "NO_PROXY": "*",
        "no_proxy": "*",
        "PYTHONUNBUFFERED": "1",
        "OPENAI_API_KEY": "dummy",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        **dict.fromkeys(("OTEL_SDK_DISABLED", "LITELLM_LOCAL_MODEL_COST_MAP", *CREWAI_OFF), "true"),
        **dict.fromkeys(("CREWAI_TRACING_ENABLED", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"), "false"),
        **dict.fromkeys(("CI", "DO_NOT_TRACK", "HF_HUB_OFFLINE"), "1"),
        "ANONYMIZED_TELEMETRY": "false",
        "DBOS_TELEMETRY": "0",
        "CREWAI_STORAGE_DIR": str(scratch / "crewai"),
        "DSPY_CACHEDIR": str(scratch / "dspy"),
    }
    env.update(extra or {})
    return env


# ------------------------------------------------------------------ stub
class Stub:
    def __init__(self):
        py = python_of({"name": "stub", "venv": "stub"})
        self.proc = subprocess.Popen([py, str(HERE / "stub_llm.py")], stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.proc.stdout.readline())["port"]
        self.url = f"http://127.0.0.1:{self.port}"

    def call(self, path, body=None, timeout=60):
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data=data), timeout=timeout) as r:
            return json.loads(r.read())

    def reset(self, **cfg):
        self.call("/reset", cfg)

    def stats(self):
        return self.call("/stats")

    def close(self):
        self.proc.terminate()
        self.proc.wait(5)


# ------------------------------------------------------------------ one run
def run_once(
    stub: Stub,
    peer: dict,
    n: int,
    scratch: pathlib.Path,
    *,
    resume=False,
    retry=False,
    state="",
    timeout=120.0,
    kill_when: int | None = None,
    tool_log="",
) -> dict:
    cmd = [python_of(peer), peer["path"]] if "cmd" not in peer else shlex.split(peer["cmd"])
    cmd += ["--base-url", stub.url + "/v1", "--n", str(n)]
    cmd += ["--variant", peer["variant"]] if peer.get("variant") else []
    cmd += ["--state", state] if state else []
    cmd += ["--resume"] if resume else []
    cmd += ["--retry"] if retry else []
    env = clean_env(scratch, {"BENCH_TOOL_LOG": tool_log} if tool_log else {})
    if os.environ.get("BENCH_TRACE"):
        env["BENCH_TRACE"] = "1"
    out_path, err_path = scratch / "stdout", scratch / "stderr"
    with open(out_path, "wb") as so, open(err_path, "wb") as se:
        t0 = time.monotonic()
        proc = subprocess.Popen(cmd, stdout=so, stderr=se, env=env, cwd=scratch, stdin=subprocess.DEVNULL)
        killed = False
        if kill_when is not None:  # SIGKILL once so many workers have finished
            try:
                stub.call(f"/wait?finals={kill_when}", timeout=timeout)
                proc.send_signal(signal.SIGKILL)
                killed = True
            except OSError:
                proc.kill()
        fd = os.pidfd_open(proc.pid)
        ready, _, _ = select.select([fd], [], [], max(0.1, timeout - (time.monotonic() - t0)))
        timed_out = not ready
        if timed_out:
            proc.kill()
            select.select([fd], [], [], 10)
        os.close(fd)
        _, status, ru = os.wait4(proc.pid, 0)
        proc.returncode = os.waitstatus_to_exitcode(status)
        t1 = time.monotonic()
    if killed:
        time.sleep(0.05)  # let the stub see the dropped connections
    st = stub.stats()
    line = {}
    for text in reversed(out_path.read_text(errors="replace").splitlines()):
        if text.startswith("{"):
            try:
                line = json.loads(text)
                break
            except ValueError:
                continue
    row = {
        "peer": peer["name"],
        "n": n,
        "exit": proc.returncode,
        "timed_out": timed_out,
        "killed": killed,
        "total_s": t1 - t0,
        "cpu_s": ru.ru_utime + ru.ru_stime,
        "maxrss_mb": ru.ru_maxrss / 1024,
        "cold_s": st["t_first"] - t0 if st["t_first"] else None,
        "llm_span_s": st["t_last"] - st["t_first"] if st["t_last"] else None,
        "adapter": line,
        "stub": st,
    }
    if not line and not killed:
        row["stderr"] = err_path.read_text(errors="replace")[-600:]
    return row


def ideal_s(peer: dict, lat: dict) -> float:
    return (lat["plan"] + peer["calls"] * lat["work"] + lat["compose"]) / 1000


def fresh(scratch: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return scratch


class Out:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def put(self, row):
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def say(row, extra=""):
    a, s = row["adapter"], row["stub"]
    print(
        f"{row.get('suite', ''):8} {row['peer']:24} n={row['n']:<5} results={a.get('results', '-')!s:>5} "
        f"job={a.get('job_s', 0):7.2f}s cpu={a.get('job_cpu_s', 0):7.2f}s cold={row['cold_s'] or 0:5.2f}s "
        f"rss={row['maxrss_mb']:6.0f}MB calls={s['requests']} rep={s['repeats']} {extra}"
        f"{' TIMEOUT' if row['timed_out'] else ''} {(a.get('errors') or row.get('stderr', '')[-160:]) or ''}",
        flush=True,
    )


# ------------------------------------------------------------------ suites
def scale(stub, peers, opt, out, scratch):
    """Wall, CPU, memory and call counts against the ideal critical path and the floor run beside it."""
    all_peers = load_peers()
    gave_up = set()
    for rep in range(opt.reps):
        for n in opt.n:
            order = list(peers)
            random.shuffle(order)
            for p in order:
                if (p["name"], n) in gave_up:
                    continue
                lat = {"plan": opt.latency, "work": opt.latency, "compose": opt.latency}
                floor_row = None
                for q in ([all_peers[FLOOR]] if p["name"] != FLOOR else []) + [p]:
                    stub.reset(latency_ms=lat, dialect=q.get("dialect"))
                    d = fresh(scratch)
                    (d / "state").mkdir()
                    row = run_once(stub, q, n, d, state=str(d / "state"), timeout=opt.timeout)
                    row.update(suite="scale", rep=rep, latency_ms=opt.latency, ideal_s=ideal_s(q, lat))
                    row["load"] = os.getloadavg()[0]
                    if q is p and floor_row:
                        row["floor"] = {
                            "job_s": floor_row["adapter"].get("job_s"),
                            "job_cpu_s": floor_row["adapter"].get("job_cpu_s"),
                        }
                    if q is p or p["name"] == FLOOR:
                        out.put(row)
                        say(row)
                    else:
                        floor_row = row
                        out.put({**row, "reference": True})
                    if q is p and (row["timed_out"] or not row["adapter"]):
                        gave_up.add((p["name"], n))


MALFORMED = {"every": 11, "kinds": [["badargs"], ["truncated"]]}
FAULTS = {
    "mixed": [{"every": 7, "kinds": ["http429", "http500"]}, MALFORMED],
    "http": [{"every": 7, "kinds": ["http429", "http500"]}],
    "badargs": [{"every": 11, "kinds": [["badargs"], ["badargs"]]}],
    "truncated": [{"every": 11, "kinds": ["truncated"]}],
    "empty": [{"every": 11, "kinds": [["none"], ["empty"]]}],
    "hang": [{"every": 67, "kinds": ["hang"]}],
}


def faults(stub, peers, opt, out, scratch):
    """Which peers still deliver all n results when calls fail once, and at how many extra calls."""
    for kind in opt.faults:
        for rep in range(opt.reps):
            for p in peers:
                for retry in (False, True) if opt.retry == "both" else (opt.retry == "on",):
                    lat = {"plan": opt.latency, "work": opt.latency, "compose": opt.latency}
                    stub.reset(latency_ms=lat, faults=FAULTS[kind], dialect=p.get("dialect"))
                    d = fresh(scratch)
                    (d / "state").mkdir()
                    row = run_once(stub, p, opt.n[0], d, retry=retry, state=str(d / "state"), timeout=opt.timeout)
                    row.update(
                        suite="faults",
                        kind=kind,
                        rep=rep,
                        retry=retry,
                        latency_ms=opt.latency,
                        ideal_calls=2 + p["calls"] * opt.n[0],
                    )
                    out.put(row)
                    say(row, f"[{kind}{'+retry' if retry else ''}] faults={sum(row['stub']['faults'].values())} ")


def crash(stub, peers, opt, out, scratch):
    """SIGKILL when half the workers have finished, start again at once, count what is done twice."""
    for rep in range(opt.reps):
        for p in peers:
            n = opt.n[0]
            lat = {"plan": opt.latency, "work": opt.latency, "compose": opt.latency}
            # an unbroken run first, for the time to compare with
            stub.reset(latency_ms=lat, jitter=0.8, dialect=p.get("dialect"))
            d = fresh(scratch)
            (d / "state").mkdir()
            whole = run_once(stub, p, n, d, state=str(d / "state"), timeout=opt.timeout)
            stub.reset(latency_ms=lat, jitter=0.8, dialect=p.get("dialect"))
            d = fresh(scratch)
            state, log = d / "state", d / "tools"
            state.mkdir()
            one = run_once(stub, p, n, d, state=str(state), timeout=opt.timeout, kill_when=n // 2, tool_log=str(log))
            before = one["stub"]
            stub.call("/mark", {})
            t_kill = time.monotonic()
            two = run_once(stub, p, n, d, state=str(state), resume=True, timeout=opt.timeout, tool_log=str(log))
            st = two["stub"]
            tools = log.read_text().split() if log.exists() else []
            two.update(
                suite="crash",
                rep=rep,
                latency_ms=opt.latency,
                durable=bool(p.get("durable")),
                calls_before=before["requests"],
                finals_before=before["finals"],
                in_flight_at_kill=before["aborted"],
                calls_after=st["requests"] - before["requests"],
                calls_total=st["requests"],
                calls_ideal=2 + p["calls"] * n,
                repeated_good=st["repeats_of_good"],
                tools_total=len(tools),
                tools_repeated=len(tools) - len(set(tools)),
                whole_total_s=whole["total_s"],
                whole_job_s=whole["adapter"].get("job_s"),
                recover_s=time.monotonic() - t_kill,
            )
            out.put(two)
            say(
                two,
                f"before={before['requests']} after={two['calls_after']} ideal={two['calls_ideal']} "
                f"good-repeated={two['repeated_good']} tools-repeated={two['tools_repeated']} "
                f"inflight={before['aborted']} recover={two['recover_s']:.2f}s whole={whole['total_s']:.2f}s ",
            )


SUITES = {"scale": scale, "faults": faults, "crash": crash}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--suite", choices=SUITES, default="scale")
    ap.add_argument("--peers", nargs="+", default=["all"], help="names, 'all', or 'durable'")
    ap.add_argument("--skip", nargs="*", default=[])
    ap.add_argument("--n", nargs="+", type=int, default=[1, 10, 100])
    ap.add_argument("--reps", type=int, default=3)
    ap.add_argument("--latency", type=float, default=200.0, help="ms per LLM call")
    ap.add_argument("--timeout", type=float, default=120.0, help="seconds per run")
    ap.add_argument("--faults", nargs="+", choices=FAULTS, default=["mixed"])
    ap.add_argument("--retry", choices=["on", "off", "both"], default="both")
    ap.add_argument("--out", default=str(HERE / "out" / "runs.jsonl"))
    ap.add_argument("--scratch", default=str(pathlib.Path(tempfile.gettempdir()) / "orchestration-bench"))
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument(
        "--isolate", action="store_true", help="re-run inside a network namespace that has loopback only (needs root)"
    )
    ap.add_argument("--list", action="store_true")
    opt = ap.parse_args()
    random.seed(opt.seed)
    peers = load_peers()
    if opt.list:
        for p in peers.values():
            print(f"{p['name']:24} {p['label']}")
        return
    if opt.isolate:
        argv = [a for a in sys.argv[1:] if a != "--isolate"]
        inner = "ip link set lo up && exec " + shlex.join([sys.executable, str(HERE / "bench.py"), *argv])
        os.execvp("unshare", ["unshare", "-n", "sh", "-c", inner])
    if opt.peers == ["all"]:
        chosen = list(peers.values())
    elif opt.peers == ["durable"]:
        chosen = [p for p in peers.values() if p.get("durable")]
    else:
        chosen = [peers[x] for x in opt.peers]
    chosen = [p for p in chosen if p["name"] not in opt.skip]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    pathlib.Path(opt.out).parent.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(opt.scratch) / str(os.getpid())
    scratch.mkdir(parents=True)
    stub = Stub()
    try:
        SUITES[opt.suite](stub, chosen, opt, Out(opt.out), scratch)
    finally:
        stub.close()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
