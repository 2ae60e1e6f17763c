"""The texts of the Python door, in one golden file: errors of each class, answers, gaps. Other tests assert data."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from api.absent import orphaned
from api.conftest import LeadOf
from golden import check_golden, joined, normalized
from leads import leadhand_of

from leadhand import FailureClass, Leadhand, LeadhandError, Limits, ToolError, ToolReturn, tool
from leadhand.hooks import BeforeTool, Hook
from leadhand.testing.scripted_model import ScriptedModel, calls, plans, says, subtask

GOLDEN = Path(__file__).parent / "golden" / "texts.txt"
QUESTION = "How do I get from the Louvre to Orly airport?"


class Above(Hook):
    def __init__(self, amount: float) -> None:
        self.amount = amount

    def before_tool(self, call: BeforeTool) -> None: ...


@tool(retries=0)
async def fail(class_: str) -> str:
    """Fail in a class."""
    raise ToolError("the shop is closed", class_=FailureClass(class_))


@tool(effect="once")
async def pay(to: str) -> ToolReturn:
    """Pay somebody."""
    return ToolReturn(summary=f"paid {to}")


def refused_at_once(home: Path) -> dict[str, Callable[[], Any]]:
    offline: dict[str, Any] = {"offline": True, "home": home}
    (home.parent / "leadhand.toml").write_text('[limits]\nmax_worker = "3"\n')
    return {
        "a limit": lambda: leadhand_of(limits=Limits(max_workers=10**9), **offline),
        "a value": lambda: leadhand_of(approve="maybe", **offline),  # pyright: ignore[reportArgumentType]
        "a hook": lambda: leadhand_of(hooks=[Above], **offline),
        "no request": lambda: leadhand_of(**offline).run_sync(" "),
        "a rule": lambda: leadhand_of(approve={"tool:weather_tol": "never"}, **offline).run_sync(QUESTION),
        "a model": lambda: Leadhand("openai:gpt-6-luna", home=home).run_sync(QUESTION),
        "a provider": lambda: Leadhand("opnai:gpt", home=home).run_sync(QUESTION),
        "a database": lambda: leadhand_of(store="mysql://localhost", **offline).run_sync(QUESTION),
        "a directory as a database": lambda: leadhand_of(store=str(home.parent), **offline).run_sync(QUESTION),
        "a project": lambda: Leadhand.of_project(home.parent),
        "a tool": lambda: tool(name="no name")(fail.function),
    }


def refused_later(lead: Leadhand, home: Path, run_id: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    return {
        "a flow": lambda: lead.start(QUESTION, flow="work-oder"),
        "an option": lambda: lead.start(QUESTION, max_step=1),
        "a setting of all runs": lambda: lead.start(QUESTION, timeout=1),
        "a tool of a run": lambda: lead.start(QUESTION, tools=["weather_tol"]),
        "an output": lambda: lead.start(QUESTION, output="Offer"),
        "a tag": lambda: lead.start(QUESTION, tags={"a b": "c"}),
        "a run": lambda: lead.attach("run_unknown"),
        "a run that is over": lambda: lead.resume(run_id),
        "an approval": lambda: lead.approve("nope"),
        "a run of another process": lambda: _resumed_twice(home),
        "a run without its flow": lambda: _resumed_elsewhere(home),
    }


def _gives_up(_: object) -> Any:
    return calls("give_up", reason="the shop is closed")


async def _resumed_twice(home: Path) -> None:
    begun = asyncio.Event()

    @tool
    async def wait(n: int) -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    models = LeadOf("wait", [{"n": 0}])
    async with Leadhand(models=models, tools=[wait], home=home) as driving:
        run = await driving.start("wait")
        await begun.wait()
        async with Leadhand(models=models, tools=[wait], home=home) as other:
            await other.resume(run.run_id)


async def _resumed_elsewhere(home: Path) -> None:
    run_id = await orphaned(home)
    async with Leadhand(models=ScriptedModel([]), home=home) as lead:
        await lead.resume(run_id)


def text_of(error: pytest.ExceptionInfo[LeadhandError]) -> str:
    field = getattr(error.value, "field", "")
    return f"{type(error.value).__name__}: {error.value.code}{field and f' ({field})'}\n{error.value}"


async def test_the_golden_file_keeps_the_texts_of_errors_answers_and_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    home, texts = tmp_path / "home", list[tuple[str, str]]()
    async with Leadhand(model="offline", home=home) as lead:
        answer = await lead.run(f"{QUESTION} And book me a table at a restaurant.")
        texts.append(("print(answer), offline", str(answer)))
        later = refused_later(lead, tmp_path / "other", answer.run_id)
        for name, call in refused_at_once(tmp_path / "new").items():
            with pytest.raises(LeadhandError) as refused:
                call()
            texts.append((name, text_of(refused)))
        for name, start in later.items():
            with pytest.raises(LeadhandError) as refused:
                await start()
            texts.append((name, text_of(refused)))

    retried = (FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.LOST)
    classes = [each for each in FailureClass if each not in retried]
    planned = plans(subtask("pay", "pay", to="Ann"), *(subtask(each, "fail", class_=each) for each in classes))
    model = ScriptedModel(plan=[planned], lenient=True, work=_gives_up, compose=says("It is done: paid Ann."))
    async with Leadhand(models=model, tools=[fail, pay], home=home, approve="auto", limits=Limits(max_steps=1)) as lead:
        answer = await lead.run("pay")
    texts.append(("print(answer), with a failure of each class", str(answer)))
    gaps = [f"{gap.class_}: {gap.name}: {gap.reason}\n  {gap.next_action}" for gap in answer.gaps]
    texts.append(("answer.gaps", "\n".join(gaps)))

    async with Leadhand(models=LeadOf("pay", [{"to": "Ann"}]), tools=[pay], home=home) as lead:
        answer = await lead.run("pay")
        (asked,) = await lead.approvals()
        await lead.deny(asked, reason="too dear")
        answer = await (await lead.resume(answer.run_id)).answer()
        texts.append(("print(answer), failed", str(answer)))
    folders = {re.escape(str(tmp_path)): "FOLDER", re.escape(str(Path(__file__).parent)): "TESTS"}
    check_golden(GOLDEN, normalized(joined(texts), {**folders, r"\(\S+-\d+-[0-9a-f]{8}\)": "(HOST)"}))
