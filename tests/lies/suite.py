"""The lying suite: carries out each case through the Python API and judges what the user gets.

``scripts/lies`` prints the tables of ``docs/explanation/false-statements.md``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leadhand import Answer, Leadhand
from leadhand.app.clock import SystemClock
from leadhand.domain.conversation import ModelProfile, ModelReply, ModelRequest
from leadhand.testing.memory_store import MemoryStore
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, reviews, says
from leadhand.testing.steps import Scripted, results_of

from .scenes import SCENES, TOOLS

CASES = Path(__file__).parent / "cases"
FILES = ("honest", "lies", "held_out_honest", "held_out_lies", "unseen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: ``says`` is the lead's text, ``work`` what the worker does, in turn (by subtask, if they differ).

    ``false`` must not reach the user as a fact, ``shown`` must reach the user, ``status`` are the statuses allowed.
    ``accept`` "all" accepts what failed, too; ``drop`` are the subtasks that the review drops.
    """

    name: str
    file: str
    kind: str
    scene: str
    says: str = ""
    work: Any = None
    false: Sequence[str] = ()
    shown: Sequence[str] = ()
    status: Sequence[str] = ()
    accept: str = ""
    drop: Sequence[str] = ()

    @property
    def honest(self) -> bool:
        return self.file.endswith("honest")

    @property
    def told(self) -> list[str]:
        """The sentences that were written for this case."""
        work = self.work.values() if isinstance(self.work, dict) else [self.work]
        steps = [step for each in work for step in (each if isinstance(each, list) else [each])]
        return [self.says, *(step for step in steps if isinstance(step, str))]


def cases(*files: str) -> list[Case]:
    """The cases of ``cases/FILE.toml``, in order."""
    found: list[Case] = []
    for file in files:
        tables = tomllib.loads((CASES / f"{file}.toml").read_text(encoding="utf-8"))["case"]
        for number, table in enumerate(tables, start=1):
            case = Case(
                name=f"{file}-{number}",
                file=file,
                kind=table.pop("class"),
                **table,
            )
            assert all(any(each in told for told in case.told) for each in case.false), case
            found.append(case)
    return found


class Stage:
    """The models of all cases, one case after another."""

    def __init__(self) -> None:
        self.model = ScriptedModel()

    def play(self, case: Case) -> None:
        self.model = ScriptedModel(
            plan=[SCENES[case.scene][1]],
            work=_Workers(case),
            review=lambda request: _review(case, brief_of(request)),
            compose=says(case.says) if case.says else (),
            lenient=True,
        )

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        return await self.model.ask(request, on_text)

    def profile(self, model: str) -> ModelProfile:
        return self.model.profile(model)

    async def aclose(self) -> None:
        """Nothing to close."""


class _Workers:
    """What the workers of a case do, each its steps in turn; the last one is repeated."""

    def __init__(self, case: Case) -> None:
        self._work = case.work
        self._names = [each["name"] for each in json.loads(SCENES[case.scene][1].text)["subtasks"]]
        self._made: dict[str, int] = {}

    def __call__(self, request: ModelRequest) -> Scripted:
        index = request.key.rpartition("/")[0].rpartition(".")[2]  # a call of run/wo-001.0/t1
        name = self._names[int(index)]
        steps = self._work.get(name) if isinstance(self._work, dict) else self._work
        steps = steps if isinstance(steps, list) else [steps]
        made = self._made[name] = self._made.get(name, 0) + 1
        step = steps[min(made, len(steps)) - 1]
        return calls(step["call"], **step["args"]) if isinstance(step, dict) else says(step)


def _review(case: Case, brief: dict[str, Any]) -> Scripted:
    accept, drop = [], {}
    for key, result in results_of(brief).items():
        if key in case.drop or (result is None and not case.accept):
            drop[key] = "it is not needed"
        else:
            accept.append(key)
    results = [result["summary"] for result in results_of(brief).values() if result is not None]
    answer = case.says or "\n".join(results)
    return reviews(accept=accept, drop=drop, answer=answer if brief.get("compose") else None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case: ``passed`` if a lie was caught or an honest text delivered as it was written."""

    case: Case
    passed: bool
    why: str
    answer: Answer = field(repr=False)


def judge(case: Case, answer: Answer) -> Verdict:
    """Compare what the user reads with what the case asks for."""
    return Verdict(case, not (why := _honest(case, answer) if case.honest else _lie(case, answer)), why, answer)


def _honest(case: Case, answer: Answer) -> str:
    for said in case.told:
        if said.strip() not in answer.text:
            return "refused"
    expected = {"stock": "partial", "closed": "failed"}.get(case.scene, "succeeded")
    return "" if answer.status.value == expected else f"the run is {answer.status.value}"


def _lie(case: Case, answer: Answer) -> str:
    marked = any("unverified" in gap["reason"] and gap["reason"] in answer.text for gap in answer.gaps)
    stated = answer.text.partition("\n\nNot answered:")[0]  # why a text was refused names what it stated
    for said in case.false:
        if said in stated and not marked:
            return f"{said!r} reaches the user"
    for needed in case.shown:
        if needed not in answer.text:
            return f"{needed!r} does not reach the user"
    if case.status and answer.status.value not in case.status:
        return f"the run is {answer.status.value}"
    return ""


async def run(chosen: Sequence[Case], home: Path) -> list[Verdict]:
    """Carry the cases out, one after another, in one process and one store."""
    stage = Stage()
    verdicts: list[Verdict] = []
    lead = Leadhand(models=stage, tools=TOOLS, store=MemoryStore(SystemClock()), home=home, approve="auto")
    async with lead:
        for case in chosen:
            stage.play(case)
            answer = await lead.run(SCENES[case.scene][0])
            assert not stage.model._unexpected, (case.name, stage.model._unexpected)
            verdicts.append(judge(case, answer))
    return verdicts


def tables(verdicts: Sequence[Verdict]) -> str:
    """The tables of the documentation, in Markdown."""
    titles = {
        "lies": "lies",
        "honest": "honest texts",
        "held_out_lies": "held-out lies",
        "held_out_honest": "held-out honest texts",
    }
    lines: list[str] = []
    for file, title in titles.items():
        lines += _table(title, [each for each in verdicts if each.case.file == file], refused=file.endswith("honest"))
    honest = [each for each in verdicts if each.case.honest]
    single = sum(bool(single_names(each)) for each in honest)
    unseen = [each for each in verdicts if each.case.file == "unseen"]
    lines.append(
        f"A check of names of one word would refuse {single} of the {len(honest)} honest texts. "
        f"Of the {len(unseen)} lies of the last section, {sum(each.passed for each in unseen)} are caught."
    )
    return "\n".join(lines)


def single_names(verdict: Verdict) -> list[str]:
    """What a check of names of one word would find in the texts of a case: capital letters that the log lacks."""
    shown = json.dumps([verdict.answer.document[part] for part in ("work_orders", "context_store")], ensure_ascii=False)
    known = f"{SCENES[verdict.case.scene][0]} {shown}".casefold()
    inside = [word for told in verdict.case.told for word in re.findall(r"(?<=[^\W\d_] )[^\W\d_]{3,}", told)]
    return [word for word in inside if word[0].isupper() and word.casefold() not in known]


def _table(title: str, verdicts: Sequence[Verdict], *, refused: bool) -> list[str]:
    counts: dict[str, list[bool]] = {}
    for each in verdicts:
        counts.setdefault(each.case.kind, []).append(each.passed is not refused)
    rows = [(kind, len(found), sum(found)) for kind, found in counts.items()]
    total = ("**all**", sum(row[1] for row in rows), sum(row[2] for row in rows))
    shown = "wrongly refused" if refused else "caught"
    return [
        f"| {title} | cases | {shown} |",
        "|---|---:|---:|",
        *(f"| {kind} | {cases} | {count} |" for kind, cases, count in (*rows, total)),
        "",
    ]
