"""A fast, deterministic, loopback-only stand-in for an OpenAI chat-completions server.

The prompt scripts the answer.  Three tags are looked for anywhere in the request body:

    @@COMPOSE:<n>@@   compose / evaluate: text, states how many distinct RESULT-<i> it was given
    @@PLAN:<n>@@      plan: a work order with n subtasks (JSON text, one structured-output tool
                      call, or n parallel calls of the one real tool, whichever the tools invite)
    @@WORK:<i>@@      worker i: a tool call first; once a tool result holding "value-k<i>" is in the
                      conversation, the text "RESULT-<i>: value-k<i>"

Endpoints: POST /v1/chat/completions (plain and stream), GET /v1/models, GET /stats,
GET /wait?finals=<k> (long poll), POST /mark (forget times, keep counts), POST /reset (new
configuration, zeroed counters).

It is one asyncio.Protocol on uvloop + httptools + orjson: no web framework in the way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import runpy
import time
from collections import Counter
from dataclasses import dataclass, field

import httptools
import orjson
from stub_script import script

REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass
class Config:
    """latency_ms per role; jitter spreads a worker's latency over (1-j .. 1+j) by its index.

    faults: [{"every": 7, "kinds": ["http429", "http500"]}, {"every": 11, "kinds": [["badargs"], ["truncated"]]}]
    Worker call c = 2*i + phase (0 = tool call, 1 = final text) is hit by a rule when
    c % every == every - 1; a nested list gives kinds per phase.  The k-th rule that hits a call
    spoils its k-th attempt, so each fault happens once and a correct retry always succeeds.
    """

    latency_ms: dict = field(default_factory=lambda: {"plan": 50.0, "work": 50.0, "compose": 50.0})
    jitter: float = 0.0
    faults: list = field(default_factory=list)
    retry_after: str | None = None
    dialect: str | None = None  # a Python file: how one system's prompts are read, see README.md


class State:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.dialect = runpy.run_path(cfg.dialect)["script"] if cfg.dialect else None
        self.requests = 0
        self.by_role: Counter = Counter()
        self.sent: Counter = Counter()
        self.attempts: Counter = Counter()  # key -> times asked
        self.good: Counter = Counter()  # key -> usable answers fully handed to the socket
        self.aborted: Counter = Counter()  # key -> client went away before the answer
        self.faults: Counter = Counter()
        self.unknown = 0
        self.inflight = self.max_inflight = 0
        self.t_first = self.t_last = None
        self.t_first_by_role: dict = {}
        self.late_max = self.late_sum = 0.0
        self.composed = None
        self.corrections = 0
        self.finals = 0
        self.waiters: list = []
        self.connections = 0
        self.cpu0 = time.process_time()


S = State(Config())


def fault_for(key: str, attempt: int) -> str | None:
    if not S.cfg.faults or key[0] != "w":
        return None
    i, phase = key[1:].split(".")
    phase = min(int(phase), 1)
    c = 2 * int(i) + phase
    hits = []
    for rule in S.cfg.faults:
        if c % rule["every"] == rule["every"] - 1:
            kinds = rule["kinds"]
            if isinstance(kinds[0], list):
                kinds = kinds[phase]
            hits.append(kinds[(c // rule["every"]) % len(kinds)])
    return hits[attempt - 1] if attempt <= len(hits) else None


# ---------------------------------------------------------------- how to say it
def completion(message: dict, finish: str) -> bytes:
    msg = {"role": "assistant", "content": None, "refusal": None, **message}
    return orjson.dumps(
        {
            "id": f"chatcmpl-{S.requests}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": "stub-1",
            "choices": [{"index": 0, "message": msg, "logprobs": None, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
        }
    )


def chunks(message: dict, finish: str) -> bytes:
    head = {"id": f"chatcmpl-{S.requests}", "object": "chat.completion.chunk", "created": 1700000000, "model": "stub-1"}

    def ev(delta: dict, fin=None) -> bytes:
        return (
            b"data: "
            + orjson.dumps({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": fin}]})
            + b"\n\n"
        )

    out = [ev({"role": "assistant", "content": "" if message.get("content") else None})]
    text = message.get("content")
    if text:
        words = text.split(" ") if len(text) < 400 else [text]
        out += [ev({"content": w if j == 0 else " " + w}) for j, w in enumerate(words)]
    for j, tc in enumerate(message.get("tool_calls") or ()):
        out.append(ev({"tool_calls": [{"index": j, **tc}]}))
    out.append(ev({}, finish))
    out.append(
        b"data: "
        + orjson.dumps(
            {**head, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}
        )
        + b"\n\n"
    )
    out.append(b"data: [DONE]\n\n")
    return b"".join(out)


def http(status: int, body: bytes, ctype: str = "application/json", extra: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-type: {ctype}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    ).encode() + body


def error(status: int) -> bytes:
    kind = "rate_limit_exceeded" if status == 429 else "server_error"
    extra = f"retry-after: {S.cfg.retry_after}\r\n" if status == 429 and S.cfg.retry_after else ""
    return http(
        status,
        orjson.dumps({"error": {"message": "injected fault", "type": kind, "param": None, "code": kind}}),
        extra=extra,
    )


def latency(role: str, key: str) -> float:
    ms = S.cfg.latency_ms.get(role, 0.0)
    if S.cfg.jitter and key[0] == "w":
        i = int(key[1:].split(".")[0])
        ms *= 1 + S.cfg.jitter * ((i * 7919 % 101) / 50 - 1)
    return ms / 1000


class Conn(asyncio.Protocol):
    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.pending = None  # (timer, key) of the request being answered

    def connection_made(self, transport):
        self.t = transport
        self.parser = httptools.HttpRequestParser(self)
        S.connections += 1

    def data_received(self, data):
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.t.close()

    def connection_lost(self, exc):
        if self.pending:
            timer, key, state = self.pending
            if timer:
                timer.cancel()
            state.inflight -= 1
            state.aborted[key] += 1
            self.pending = None

    # httptools callbacks
    def on_message_begin(self):
        self.body = []
        self.url = b""

    def on_url(self, url):
        self.url += url

    def on_body(self, data):
        self.body.append(data)

    def on_message_complete(self):
        path, _, query = self.url.partition(b"?")
        if path.endswith(b"/chat/completions"):
            self.chat(b"".join(self.body))
        elif path == b"/stats":
            self.t.write(http(200, orjson.dumps(stats())))
        elif path == b"/reset":
            reset(orjson.loads(b"".join(self.body) or b"{}"))
            self.t.write(http(200, b"{}"))
        elif path == b"/mark":  # a restart: forget the times, keep the counts
            S.t_first = S.t_last = None
            S.t_first_by_role = {}
            self.t.write(http(200, b"{}"))
        elif path == b"/wait":
            k = int(query.partition(b"=")[2])
            if S.finals >= k:
                self.t.write(http(200, b"{}"))
            else:
                S.waiters.append((k, self.t))
        elif path.endswith(b"/models"):
            self.t.write(
                http(200, b'{"object":"list","data":[{"id":"stub-1","object":"model","created":1,"owned_by":"stub"}]}')
            )
        else:
            self.t.write(http(404, b'{"error":{"message":"no such path"}}'))

    def chat(self, body: bytes):
        now = time.monotonic()
        s = S
        try:
            key, role, message, finish, stream = script(s, body)
        except Exception as exc:  # a request the stub cannot read is the client's fault: say so
            s.unknown += 1
            self.t.write(http(400, orjson.dumps({"error": {"message": repr(exc)}})))
            return
        s.requests += 1
        s.by_role[role] += 1
        s.sent[role] += len(body)
        s.attempts[key] += 1
        s.t_first = s.t_first or now
        s.t_first_by_role.setdefault(role, now)
        s.inflight += 1
        s.max_inflight = max(s.max_inflight, s.inflight)
        fault = fault_for(key, s.attempts[key])
        if fault:
            s.faults[fault] += 1
        if fault == "hang":
            self.pending = (None, key, s)
            return
        delay = latency(role, key)
        due = self.loop.time() + delay
        timer = self.loop.call_later(delay, self.reply, s, key, message, finish, stream, fault, due)
        self.pending = (timer, key, s)

    def reply(self, s, key, message, finish, stream, fault, due):
        late = self.loop.time() - due
        s.late_max = max(s.late_max, late)
        s.late_sum += late
        self.pending = None
        s.inflight -= 1
        if fault in ("http429", "http500"):
            self.t.write(error(int(fault[4:])))
            return
        if fault == "badargs" and message.get("tool_calls"):
            for tc in message["tool_calls"]:
                tc["function"]["arguments"] = tc["function"]["arguments"][:-3]
        elif fault == "empty":
            message, finish = {"content": ""}, "stop"
        if stream:
            data = http(200, chunks(message, finish), "text/event-stream")
        else:
            body = completion(message, finish)
            if fault == "truncated":
                body = body[: len(body) // 2]
            data = http(200, body)
        self.t.write(data)
        s.t_last = time.monotonic()
        if not fault:
            s.good[key] += 1
            if key[0] == "w" and key.endswith(".1"):
                s.finals += 1
                ready = [w for w in s.waiters if s.finals >= w[0]]
                for w in ready:
                    s.waiters.remove(w)
                    w[1].write(http(200, b"{}"))


def stats() -> dict:
    s = S
    return {
        "requests": s.requests,
        "by_role": dict(s.by_role),
        "unknown": s.unknown,
        "request_bytes": sum(s.sent.values()),
        "request_bytes_by_role": dict(s.sent),
        "distinct": len(s.attempts),
        "distinct_work": sum(1 for k in s.attempts if k[0] == "w"),
        "repeats": sum(v - 1 for v in s.attempts.values()),
        "repeats_of_good": sum(v - 1 for v in s.good.values() if v > 1),
        "aborted": sum(s.aborted.values()),
        "inflight": s.inflight,
        "max_inflight": s.max_inflight,
        "faults": dict(s.faults),
        "corrections": s.corrections,
        "composed": s.composed,
        "finals": s.finals,
        "finals_distinct": sum(1 for k in s.good if k[0] == "w" and k.endswith(".1")),
        "t_first": s.t_first,
        "t_last": s.t_last,
        "t_first_by_role": s.t_first_by_role,
        "late_max_ms": s.late_max * 1e3,
        "late_mean_ms": s.late_sum / max(1, s.requests) * 1e3,
        "cpu_s": time.process_time() - s.cpu0,
        "connections": s.connections,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def reset(cfg: dict) -> None:
    global S
    S = State(Config(**cfg))


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Conn, "127.0.0.1", port, backlog=4096)
    print(orjson.dumps({"port": server.sockets[0].getsockname()[1], "pid": os.getpid()}).decode(), flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--port", type=int, default=0)
    a = ap.parse_args()
    try:
        import uvloop

        uvloop.run(serve(a.port))
    except ImportError:
        asyncio.run(serve(a.port))
    except KeyboardInterrupt:
        pass
