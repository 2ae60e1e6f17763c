"""Ask a judge about the drafts, in one run of Leadhand: models, retries, limits and repairs are those of any run."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from leadhand import Leadhand, Limits
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import AttemptReturned, ModelCallReturned, StepSettled
from leadhand.core.ids import step_of
from leadhand.core.value import Json, compact_json
from leadhand.core.work_result import Claim
from leadhand.flows import FlowContext
from leadhand.flows.facts import context_budget, tokens
from leadhand.flows.judging import calls_shown, shards_of, verifying
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.pending import Details
from leadhand.verify.judge import JUDGE, Verifier, judge_facts, judging_workers, reply_schema

from .cases import Draft


@dataclass(slots=True)
class Reply:
    """What a judge replied, and what that took. ``value`` is None if no reply could be read after the usual repairs."""

    value: Json = None
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanousd: int | None = 0


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a judge: some claims of a draft, and the facts that it is shown."""

    draft: Draft
    claims: Sequence[Claim]
    facts: Mapping[str, Any]


class Replies:
    """Replies by the digest of what was asked, kept in a file of JSON lines if there is one."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._replies: dict[str, Reply] = {}
        for line in path.read_text("utf-8").splitlines() if path is not None and path.exists() else ():
            try:
                digest, kept = json.loads(line)
            except ValueError:
                continue  # a process was killed while it wrote this line
            self._replies[digest] = Reply(**kept)

    def __contains__(self, digest: str) -> bool:
        return digest in self._replies

    def get(self, digest: str) -> Reply | None:
        return self._replies.get(digest)

    def add(self, digest: str, reply: Reply) -> None:
        """Keep a reply. It is in the file when this returns."""
        self._replies[digest] = reply
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps([digest, asdict(reply)], ensure_ascii=False)}")


@dataclass(slots=True)
class Asked:
    """The questions by digest, how many of them were asked now, and the failures of those without a reply."""

    questions: Mapping[str, Question] = field(default_factory=dict[str, Question])
    now: int = 0
    failures: list[Failure] = field(default_factory=list[Failure])


def asking(
    drafts: Sequence[Draft], replies: Replies, judge: str, verifier: Verifier | None, asked: Asked
) -> FunctionFlow:
    """Return a flow that has a judge reply to everything about some drafts that is not among the ``replies`` yet.

    ``judge`` is the name of the model, or of the verifier that judges in its place. The questions go to ``asked``.
    """
    worker = judging_workers("judge", (), verifier=verifier is not None)[0]

    def digest(question: Question) -> str:
        of = [judge, worker.instructions, _schema(question), dict(question.facts)]
        return hashlib.sha256(compact_json(of).encode(errors="replace")).hexdigest()[:32]

    def details(question: Question) -> Details:
        return Details(shows=lambda *_: dict(question.facts), schema=_schema(question), code=verifying(verifier))

    async def measure(run: FlowContext) -> str:
        about = questions_about(drafts, context_budget(run.state, JUDGE))
        asked.questions = {digest(each): each for each in about}
        new = {key: each for key, each in asked.questions.items() if key not in replies}
        steps = (run.step(worker, key=key, input={}, details=details(each)) for key, each in new.items())
        await run.gather(steps, return_failures=True)
        return "asked"

    return FunctionFlow(measure, "measure-judge", workers=[worker])


def questions_about(drafts: Iterable[Draft], room: int) -> Iterator[Question]:
    """Yield the requests about some drafts, as a run would make them with ``room`` tokens for their facts."""
    for draft in drafts:
        left = max(room - tokens(draft.request), room // 2)
        calls = calls_shown(draft.material.calls, left // 4)
        for numbers, pieces in shards_of(draft.claims, draft.material, left - tokens(calls)):
            claims = [each for each in draft.claims if each.n in numbers]
            facts = {**judge_facts(claims, pieces, draft.material, draft.request), "calls": calls}
            yield Question(draft, claims, facts)


def _schema(question: Question) -> dict[str, Any]:
    return reply_schema(each.n for each in question.claims)


async def ask(
    drafts: Sequence[Draft],
    replies: Replies,
    *,
    model: str,
    verifier: Verifier | None = None,
    limits: Limits | None = None,
    at_once: int = 8,
) -> Asked:
    """Ask a model, or a verifier with this name, and add its ``replies`` as they come.

    ``limits`` are those of the whole run, such as a budget. Raises ConfigurationError for a model that cannot be used.
    """
    asked = Asked()
    flow = asking(drafts, replies, model, verifier, asked)
    open_: dict[str, Reply] = {}
    with tempfile.TemporaryDirectory() as home:
        async with Leadhand(
            model if verifier is None else "offline",
            tools=[],
            flows=[flow],
            verifier=verifier,
            check="off",
            home=home,
            limits=Limits(max_workers=at_once, timeout=None).patched(limits),
        ) as lead:
            run = await lead.start("Measure the judge", flow=flow.name)
            async for entry in run:
                match entry.event:
                    case ModelCallReturned() as returned:
                        reply = open_.setdefault(step_of(returned.attempt), Reply())
                        _add(reply, returned)
                    case AttemptReturned() as returned:
                        if verifier is not None:
                            key = step_of(returned.attempt)
                            open_[key] = Reply(value=returned.value, requests=1, nanousd=None)
                    case StepSettled(final=True) as settled:
                        key = step_of(settled.attempt)
                        reply = open_.pop(key, Reply())
                        garbage = settled.failure is not None and settled.failure.class_ is FailureClass.INVALID
                        if settled.ok or (garbage and verifier is None):
                            reply.value = reply.value if settled.ok else None
                            replies.add(key, reply)
                            asked.now += 1
                        elif settled.failure is not None:
                            asked.failures.append(settled.failure)
                    case _:
                        pass
            await run.wait()
    return asked


def _add(reply: Reply, returned: ModelCallReturned) -> None:
    """Add what a model call took; its answer is the reply, unless a later one is."""
    reply.value = returned.value
    if returned.usage is not None:
        reply.requests += returned.usage.requests
        reply.input_tokens += returned.usage.input_tokens
        reply.output_tokens += returned.usage.output_tokens
        cost = returned.usage.nanousd
        reply.nanousd = None if cost is None or reply.nanousd is None else reply.nanousd + cost
