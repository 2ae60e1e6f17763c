"""Print tables of runs: ``python report.py out/*.jsonl > report.md``. Also writes out/summary.json."""

from __future__ import annotations

import collections
import json
import pathlib
import statistics
import sys

from bench import FLOOR, load_peers

PEERS = load_peers()


def med(xs):
    xs = [x for x in xs if x is not None]
    return statistics.median(xs) if xs else None


def fmt(x, d=2, unit=""):
    return "–" if x is None else f"{x:.{d}f}{unit}"


def rows_of(paths):
    rows = []
    for p in paths:
        for line in pathlib.Path(p).read_text().splitlines():
            r = json.loads(line)
            if not r.get("reference") or r["peer"] == FLOOR:  # the floor's reference runs are runs of the floor
                rows.append(r)
    return rows


def table(head, body):
    return (
        "\n".join(
            ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
            + ["| " + " | ".join(str(c) for c in r) + " |" for r in body]
        )
        + "\n"
    )


def scale(rows):
    """One summary per (peer, n, latency), and slopes over n per peer."""
    groups = collections.defaultdict(list)
    for r in rows:
        groups[(r["peer"], r["n"], r["latency_ms"])].append(r)
    out = {}
    for key, rs in groups.items():
        done = [r for r in rs if r["adapter"].get("results") == r["n"] and not r["timed_out"]]
        g = {"runs": len(rs), "complete": len(done), "timeouts": sum(r["timed_out"] for r in rs)}
        if done:
            job = [r["adapter"]["job_s"] for r in done]
            # a floor's reference is itself
            rel = [r["adapter"]["job_s"] / r["floor"]["job_s"] for r in done if r.get("floor", {}).get("job_s")]
            relc = [
                r["adapter"]["job_cpu_s"] / r["floor"]["job_cpu_s"] for r in done if r.get("floor", {}).get("job_cpu_s")
            ]
            g |= {
                "job_s": med(job),
                "job_s_min": min(job),
                "ideal_s": rs[0]["ideal_s"],
                "efficiency": med([r["ideal_s"] / r["adapter"]["job_s"] for r in done]),
                "wall_vs_floor": med(rel),
                "cpu_vs_floor": med(relc),
                "job_cpu_s": med([r["adapter"]["job_cpu_s"] for r in done]),
                "cpu_ms_per_worker": med([r["adapter"]["job_cpu_s"] for r in done]) * 1e3 / key[1],
                "peak_rss_mb": med([r["maxrss_mb"] for r in done]),
                "cold_s": med([r["cold_s"] for r in done]),
                "import_cpu_s": med([r["adapter"]["import_cpu_s"] for r in done]),
                "start_cpu_s": med([r["cpu_s"] - r["adapter"]["job_cpu_s"] for r in done]),
                "calls": med([r["stub"]["requests"] for r in done]),
                "repeats": max(r["stub"]["repeats"] for r in done),
                "composed": med([r["stub"]["composed"] for r in done]),
                "max_inflight": med([r["stub"]["max_inflight"] for r in done]),
                "stub_cpu_s": med([r["stub"]["cpu_s"] for r in done]),
                "stub_late_ms": med([r["stub"]["late_mean_ms"] for r in done]),
            }
        out[key] = g
    return out


def slopes(s, lat):
    """Cost of one more worker: the slope between the smallest and the largest n that finished."""
    out = {}
    for peer in {k[0] for k in s}:
        ns = sorted(k[1] for k in s if k[0] == peer and k[2] == lat and s[k].get("complete"))
        if len(ns) < 2:
            continue
        o = {}
        for hi in ns[1:]:
            lo = ns[0]
            a, b = s[(peer, lo, lat)], s[(peer, hi, lat)]
            o[hi] = {
                "cpu_ms": (b["job_cpu_s"] - a["job_cpu_s"]) * 1e3 / (hi - lo),
                "rss_mb": (b["peak_rss_mb"] - a["peak_rss_mb"]) / (hi - lo),
            }
        out[peer] = o
    return out


def brief(rows, lat=200.0):
    """The one table to quote."""
    s = scale([r for r in rows if r["suite"] == "scale" and r["latency_ms"] == lat])
    sl = slopes(s, lat)
    names = sorted({k[0] for k in s}, key=lambda p: sl.get(p, {}).get(100, {}).get("cpu_ms", 9e9))
    body = []
    for p in names:
        g = {n: s.get((p, n, lat), {}) for n in (1, 100, 1000)}

        def cell(n, key, d=2, p=p, g=g):
            return fmt(g[n].get(key), d) if g[n].get("complete") else ("DNF" if g[n] else "–")

        best = [
            f"{g[n]['ideal_s'] / g[n]['job_s_min']:.2f}" if g[n].get("complete") else cell(n, "job_s")
            for n in (1, 100, 1000)
        ]
        body.append(
            [
                PEERS[p]["label"],
                cell(1, "cold_s"),
                fmt(g[1].get("start_cpu_s"), 1),
                " / ".join(cell(n, "efficiency") for n in (1, 100, 1000)),
                " / ".join(best),
                " / ".join(cell(n, "job_s", 1) for n in (100, 1000)),
                " / ".join(cell(n, "wall_vs_floor", 1) for n in (100, 1000)),
                fmt(sl.get(p, {}).get(100, {}).get("cpu_ms"), 1),
                fmt(sl.get(p, {}).get(1000, {}).get("cpu_ms"), 1),
                " / ".join(cell(n, "peak_rss_mb", 0) for n in (1, 1000)),
                fmt((sl.get(p, {}).get(1000) or sl.get(p, {}).get(100) or {}).get("rss_mb"), 3),
                "/".join(str(g[n].get("complete", 0)) for n in (1, 100, 1000)),
            ]
        )
    print(
        table(
            [
                "system",
                "cold start s",
                "start CPU s",
                "efficiency, median (N=1/100/1000)",
                "best",
                "wall s (100/1000)",
                "x floor wall (100/1000)",
                "CPU ms per worker (to 100)",
                "(to 1000)",
                "peak MB (1/1000)",
                "MB per worker",
                "complete runs",
            ],
            body,
        )
    )


def main(paths):
    if paths[0] == "--brief":
        return brief(rows_of(paths[1:]))
    rows = rows_of(paths)
    summary = {}
    sc = [r for r in rows if r["suite"] == "scale"]
    for lat in sorted({r["latency_ms"] for r in sc}):
        s = scale([r for r in sc if r["latency_ms"] == lat])
        sl = slopes(s, lat)
        ns = sorted({k[1] for k in s})
        names = sorted(
            {k[0] for k in s}, key=lambda p: (not p.startswith("floor"), sl.get(p, {}).get(100, {}).get("cpu_ms", 9e9))
        )
        print(f"\n### Scale, {lat:.0f} ms per LLM call (ideal {4 * lat / 1000:.1f} s; medians)\n")
        head = ["peer", "cold start s / CPU s"]
        for n in ns:
            head += [f"eff N={n} median (best)", f"wall s N={n}", f"x floor N={n}"]
        big = [n for n in ns if n >= 100]
        head += [f"CPU ms/worker to N={n}" for n in big] + [f"peak MB N={n}" for n in big]
        head += [f"MB/worker to N={n}" for n in big] + ["LLM calls at max N (repeats)", "complete runs per N"]
        body = []
        for p in names:
            g = {n: s.get((p, n, lat), {}) for n in ns}
            line = [
                PEERS[p]["label"] if p in PEERS else p,
                " / ".join(fmt(med([x.get(part) for x in g.values()])) for part in ("cold_s", "start_cpu_s")),
            ]
            for n in ns:
                if g[n] and not g[n].get("complete"):
                    line += ["did not finish", "–", "–"]
                elif not g[n]:
                    line += ["–", "–", "–"]
                else:
                    line += [
                        f"{g[n]['efficiency']:.2f} ({g[n]['ideal_s'] / g[n]['job_s_min']:.2f})",
                        fmt(g[n]["job_s"]),
                        fmt(g[n].get("wall_vs_floor"), 1),
                    ]
            line += [fmt(sl.get(p, {}).get(n, {}).get("cpu_ms"), 1) for n in big]
            line += [fmt(g[n].get("peak_rss_mb"), 0) for n in big]
            line += [fmt(sl.get(p, {}).get(n, {}).get("rss_mb"), 3) for n in big]
            last = [g[n] for n in ns if g[n].get("complete")]
            line += [
                f"{last[-1]['calls']:.0f} ({last[-1]['repeats']})" if last else "–",
                "/".join(str(g[n].get("complete", 0)) for n in ns),
            ]
            body.append(line)
        print(table(head, body))
        summary[f"scale_{lat:.0f}ms"] = {f"{k[0]}/{k[1]}": v for k, v in s.items()}
        summary[f"slopes_{lat:.0f}ms"] = sl

    cr = [r for r in rows if r["suite"] == "crash"]
    if cr:
        print("\n### SIGKILL when half of the workers had finished, then restarted\n")
        g = collections.defaultdict(list)
        for r in cr:
            g[r["peer"]].append(r)
        body = []
        for p, rs in g.items():

            def m(f, rs=rs):
                return med([f(r) for r in rs])

            body.append(
                [
                    PEERS[p]["label"],
                    rs[0]["n"],
                    f"{m(lambda r: r['adapter'].get('results') or 0):.0f}",
                    fmt(m(lambda r: r["calls_before"]), 0),
                    fmt(m(lambda r: r["in_flight_at_kill"]), 0),
                    fmt(m(lambda r: r["calls_after"]), 0),
                    fmt(m(lambda r: r["calls_total"] - r["calls_ideal"]), 0),
                    fmt(m(lambda r: r["repeated_good"]), 0),
                    fmt(m(lambda r: r["tools_repeated"]), 0),
                    fmt(m(lambda r: r["cold_s"])),
                    fmt(m(lambda r: r["recover_s"])),
                    fmt(m(lambda r: r["whole_total_s"])),
                    len(rs),
                ]
            )
        print(
            table(
                [
                    "peer",
                    "N",
                    "results after restart",
                    "calls before kill",
                    "in flight at kill",
                    "calls after",
                    "extra calls in all",
                    "answered calls asked again",
                    "tool runs repeated",
                    "first call after restart s",
                    "restart to result s",
                    "unbroken run s",
                    "runs",
                ],
                body,
            )
        )
        summary["crash"] = {
            p: {
                k: med([r[k] for r in rs])
                for k in (
                    "calls_before",
                    "in_flight_at_kill",
                    "calls_after",
                    "calls_total",
                    "calls_ideal",
                    "repeated_good",
                    "tools_repeated",
                    "recover_s",
                    "whole_total_s",
                    "cold_s",
                )
            }
            | {"results": med([r["adapter"].get("results") or 0 for r in rs]), "runs": len(rs)}
            for p, rs in g.items()
        }

    fa = [r for r in rows if r["suite"] == "faults"]
    if fa:
        kinds = list(dict.fromkeys(r["kind"] for r in fa))
        print("\n### Faults, each once: results delivered of N (extra LLM calls; job seconds)\n")
        g = collections.defaultdict(list)
        for r in fa:
            g[(r["peer"], r["kind"], r["retry"])].append(r)
        cols = [(k, t) for k in kinds for t in (False, True) if any(x[1] == k and x[2] == t for x in g)]
        body = []
        for p in dict.fromkeys(r["peer"] for r in fa):
            line = [PEERS[p]["label"]]
            for c in cols:
                rs = g.get((p, *c))
                if not rs:
                    line.append("–")
                    continue
                res = med([r["adapter"].get("results") or 0 for r in rs])
                extra = med([r["stub"]["requests"] - r["ideal_calls"] for r in rs])
                line.append(
                    f"{res:.0f}/{rs[0]['n']} ({extra:+.0f}; "
                    + ("timeout" if rs[0]["timed_out"] else fmt(med([r["adapter"].get("job_s") for r in rs]), 1))
                    + ")"
                )
            body.append(line)
        print(table(["peer"] + [f"{k}{' + retry' if t else ''}" for k, t in cols], body))
        summary["faults"] = {
            f"{p}/{k}/{'retry' if t else 'default'}": {
                "results": med([r["adapter"].get("results") or 0 for r in rs]),
                "n": rs[0]["n"],
                "extra_calls": med([r["stub"]["requests"] - r["ideal_calls"] for r in rs]),
                "job_s": med([r["adapter"].get("job_s") for r in rs]),
                "timed_out": any(r["timed_out"] for r in rs),
                "faults": med([sum(r["stub"]["faults"].values()) for r in rs]),
                "runs": len(rs),
                "errors": (rs[0]["adapter"].get("errors") or [])[:2],
            }
            for (p, k, t), rs in g.items()
        }

    pathlib.Path(__file__).with_name("out").joinpath("summary.json").write_text(json.dumps(summary, indent=1))
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
