"""Measure a judge: what it catches of false claims, and what it doubts of true ones.

    uv run python -m benchmarks.judge --exact                      # the exact checks alone, without a model
    uv run python -m benchmarks.judge --model openai:gpt-5-mini --limit 5 --keep judge.jsonl
    uv run python -m benchmarks.judge --verifier my_judge:VERIFIER

What is asked, and what of a reply counts, is what `leadhand.verify` does in a run.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.judging.asking import Asked, Replies, ask
from benchmarks.judging.cases import FILES, Draft, read
from benchmarks.judging.scores import scores_of, table

from leadhand.core.errors import ConfigurationError, LeadhandError, UsageError
from leadhand.core.limits import Limits, usd
from leadhand.verify.judge import Verifier


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the scores of a judge. Return 3 if some requests have no reply, 2 or 6 if nothing could be asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    judge = parser.add_mutually_exclusive_group(required=True)
    judge.add_argument("--model", metavar="PROVIDER:NAME", help="the model that judges")
    judge.add_argument("--verifier", metavar="MODULE:NAME", help="a leadhand.Verifier, or a function that returns one")
    judge.add_argument("--exact", action="store_true", help="the exact checks alone: no model is asked")
    parser.add_argument("--base-url", metavar="URL", help="the server of openai_compatible:NAME")
    known = ", ".join(path.stem for path in FILES)
    parser.add_argument("--cases", default="", metavar="NAMES", help=f"with commas, of {known}, or files of your own")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N texts of each corpus")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep replies here; what it has is not asked again")
    parser.add_argument("--at-once", type=int, default=8, metavar="N", help="requests at a time (8)")
    parser.add_argument("--budget", type=float, default=1.0, metavar="USD", help="the most that new requests cost (1)")
    parser.add_argument("--max-output-tokens", type=int, default=2_000, metavar="N", help="of a reply, at most (2000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        drafts = read([name for name in options.cases.split(",") if name], options.limit)
        return _measured(options, drafts)
    except LeadhandError as error:
        print(f"{error.what}\n{error.how}", file=sys.stderr)
        return 6 if isinstance(error, ConfigurationError) else 2
    except KeyboardInterrupt:
        print("stopped; what was replied is in the file of --keep, if there is one", file=sys.stderr)
        return 130


def _measured(options: argparse.Namespace, drafts: Sequence[Draft]) -> int:
    replies = Replies(options.keep)
    began = time.monotonic()
    asked = Asked({}) if options.exact else asyncio.run(_ask(options, drafts, replies))
    seconds = time.monotonic() - began
    cpu = time.process_time()
    scores = scores_of(drafts, asked.questions, replies)
    cpu = time.process_time() - cpu
    used = [reply for digest in asked.questions if (reply := replies.get(digest)) is not None]
    costs = [reply.nanousd for reply in used]
    found: dict[str, Any] = {
        **scores.as_json(),
        "judge": options.model or options.verifier,
        "texts": len(drafts),
        "questions": len(asked.questions),
        "asked_now": asked.now,
        "without_reply": len(asked.questions) - len(used),
        "requests": sum(reply.requests for reply in used),
        "input_tokens": sum(reply.input_tokens for reply in used),
        "output_tokens": sum(reply.output_tokens for reply in used),
        "cost_usd": None if None in costs else usd(sum(cost or 0 for cost in costs)),
        "seconds": round(seconds, 2),
        "cpu_seconds_of_checks": round(cpu, 2),
    }
    print(
        json.dumps(found, ensure_ascii=False, indent=2)
        if options.json
        else "\n".join((*table(scores), *_summary(found)))
    )
    examples = {each.type: f"{each.message} ({each.next_action})" for each in asked.failures}
    for type_, times in Counter(each.type for each in asked.failures).items():
        print(f"{times} without a reply, such as: {examples[type_]}", file=sys.stderr)
    return 3 if found["without_reply"] else 0


async def _ask(options: argparse.Namespace, drafts: Sequence[Draft], replies: Replies) -> Asked:
    most = {"budget": options.budget, "max_output_tokens": options.max_output_tokens}
    limits = Limits(**most, allow_unknown_price=True)
    if options.verifier:
        verifier = _verifier(options.verifier)
        return await ask(
            drafts, replies, model=options.verifier, verifier=verifier, at_once=options.at_once, limits=limits
        )
    if options.model == "offline":
        raise UsageError(
            "the offline model cannot judge",
            "Name a model with --model PROVIDER:NAME, or see what is caught without one: --exact.",
        )
    if options.base_url:
        os.environ["LEADHAND_BASE_URL"] = options.base_url
    return await ask(drafts, replies, model=options.model, at_once=options.at_once, limits=limits)


def _verifier(place: str) -> Verifier:
    """Return a verifier by its place, ``module:NAME``; a class or function is called. Raises UsageError."""
    module, _, name = place.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"cannot import {place}: {error}", "Name it as module:NAME, importable from here.") from error
    return found() if isinstance(found, type) or not hasattr(found, "verify") else found


def _summary(found: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield f"false claims caught: {found['caught']} of {found['false']}; missed: {_percent(found['missed'])}"
    yield (
        f"true claims doubted: {_percent(found['doubted'])} of {found['true']}; "
        f"contradicted: {found['contradicted_true']}; not checked: {found['not_checked']} of all"
    )
    yield (
        f"missing parts named: {found['omissions_named']} of {found['omissions']}, "
        f"and in {found['complete_called_incomplete']} of {found['complete']} complete answers"
    )
    cost = "unknown" if found["cost_usd"] is None else f"${found['cost_usd']:.4f}"
    yield (
        f"{found['texts']} texts, {found['questions']} questions ({found['asked_now']} asked now), "
        f"{found['requests']} requests, {found['input_tokens']} + {found['output_tokens']} tokens, cost {cost}, "
        f"{found['seconds']} s; {found['cpu_seconds_of_checks']} s of CPU for the checks"
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


if __name__ == "__main__":
    sys.exit(main())
