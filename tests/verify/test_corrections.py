"""What follows from contradictions: what the writer is asked, what is judged again, and what the lead is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of
from memory_store import MemoryStore
from pydantic import BaseModel

from leadhand import Answer, ToolReturn, Worker, tool
from leadhand.app.runtime.clock import SystemClock
from leadhand.flows import FlowContext, flow, judging
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, fails, gives, plans, reviews, says, subtask

from .judges import confirms
from .small import Small

REQUEST = "Look the stock of B-207 up, and order twelve of them."
LOOK = subtask("stock", "stock", item="B-207")
ORDER = subtask("order", "order_item", item="B-207", pieces=12)
LIES = ("I have ordered twelve more.", "Twelve more have been ordered from Nordlicht.")


@tool
def stock(item: str) -> ToolReturn:
    """How many pieces are in stock."""
    return ToolReturn(summary=f"{item}: 7 pieces", raw={"item": item, "pieces": 7})


@tool(effect="once")
def order_item(item: str, pieces: int) -> ToolReturn:
    """Order pieces of an item."""
    return ToolReturn(summary=f"{pieces} of {item} ordered", raw={"ordered": pieces})


def marks(*parts: str, action: bool = True, quote: str = "") -> Callable[[ModelRequest], Any]:
    """A judge that contradicts each claim with one of these parts, once for each of them."""

    def judge(request: ModelRequest) -> Any:
        brief = brief_of(request)
        found = [(each["n"], part) for each in brief["claims"] for part in parts if part in each["text"]]
        doubt = {"why": "Not so.", "evidence": next(iter(brief["evidence"]), ""), "quote": quote, "action": action}
        verdicts = {str(each["n"]): "confirmed" for each in brief["claims"]}
        verdicts |= {str(n): "contradicted" for n, _ in found}
        return {"verdicts": verdicts, "doubts": [{**doubt, "claim": n, "part": part} for n, part in found]}

    return judge


class Played:
    """A model that plays all the workers of a run; ``texts`` are the answer and its corrections, in turn."""

    def __init__(
        self,
        *subtasks: dict[str, Any],
        texts: Sequence[str],
        judge: Callable[[ModelRequest], Any],
        missing: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.briefs: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[ModelRequest] = []
        self._subtasks, self._texts, self._judge, self._missing = subtasks, list(texts), judge, list(missing)

    def __call__(self, request: ModelRequest) -> Any:
        brief = brief_of(request)
        worker = "correct" if "problems" in brief else "missing" if "missing" in brief else request.worker
        self.briefs.setdefault(worker, []).append(brief)
        self.requests.append(request)
        match worker:
            case "plan":
                return plans(*self._subtasks)
            case "judge":
                return self._judge(request)
            case "correct":
                return says(self._texts.pop(0))
            case "missing":
                return gives({"missing": self._missing})
            case "review":
                done = [each["subtask"] for each in brief["subtasks"] if each["status"] == "completed"]
                return reviews(accept=done, **({"answer": self._texts.pop(0)} if "compose" in brief else {}))
            case "compose":
                return says(self._texts.pop(0))
            case "solo":
                made = any(each.role == "tool" for each in request.messages)
                return says(self._texts.pop(0)) if made else calls("stock", item="B-207")
            case _:
                return says("It is done.")


async def run(played: Played, home: Path, **settings: Any) -> Answer:
    start = {name: settings.pop(name) for name in ("flow",) if name in settings}
    store, given = MemoryStore(SystemClock()), {"approve": "auto", "check": "judge", **settings}
    models = ScriptedModel(played)
    async with leadhand_of(models=models, tools=[stock, order_item], store=store, home=home, **given) as lead:
        return await lead.run(REQUEST, **start)


async def test_a_lie_in_other_words_is_contradicted_too(tmp_path: Path) -> None:
    model = Played(LOOK, texts=LIES, judge=marks(*LIES))
    answer = await run(model, tmp_path)
    assert (answer.status.value, answer.text) == ("partial", LIES[1])
    assert [each.verdict.value for each in answer.doubts] == ["contradicted"]
    assert (len(model.briefs["correct"]), len(model.briefs["judge"])) == (1, 3)


async def test_the_writer_and_people_see_every_reason(tmp_path: Path) -> None:
    text = "There are 9 pieces of B-207 and 24 of A-113."
    parts = ("9 pieces", "24 of A-113")
    model = Played(LOOK, texts=[text, text], judge=marks(*parts, action=False, quote="7"))
    answer = await run(model, tmp_path)
    assert [each["words"] for each in model.briefs["correct"][0]["problems"]] == [*parts]
    assert model.briefs["correct"][0]["evidence"]["wo-001.0"]["returned"] == {"item": "B-207", "pieces": 7}
    assert [each.part for each in answer.doubts] == [*parts]
    assert answer.status.value == "partial"


@pytest.mark.parametrize("reply", ["…", "I am sorry, I have corrected it.", "B-207: 7 pieces."])
async def test_a_correction_that_leaves_out_what_nobody_contradicts_is_not_used(reply: str, tmp_path: Path) -> None:
    texts = (f"B-207: 7 pieces.\n\nA-113: 24 pieces.\n\n{LIES[0]}", reply)
    answer = await run(Played(LOOK, texts=texts, judge=marks(LIES[0])), tmp_path)
    assert (answer.status.value, answer.text) == ("partial", texts[0])


@pytest.mark.parametrize("lack", ["it", "another"])
async def test_what_a_corrected_answer_lacks_is_what_the_last_judgement_of_it_says(lack: str, tmp_path: Path) -> None:
    texts = (f"B-207: 9 pieces, and {LIES[0]}", "It is corrected.")

    def judge(request: ModelRequest) -> Any:
        first = "9 pieces" in str(brief_of(request)["claims"])
        said = marks("9 pieces", action=False, quote="7")(request)
        return said if first == (lack == "another") else {**said, "missing": [{"part": "stock", "request": "stock"}]}

    named = [{"n": 1, "name": "the stock of B-207", "reason": "The answer has no number."}]
    model = Played(LOOK, texts=texts, judge=judge, missing=named)
    answer = await run(model, tmp_path, max_steps=1)
    assert answer.text == texts[1]
    lacks = [("the stock of B-207", named[0]["reason"])] if lack == "another" else []
    assert [(each.name, each.reason) for each in answer.gaps] == lacks
    assert answer.status.value == ("partial" if lacks else "succeeded")


@pytest.mark.parametrize("flow", ["work-order", "solo"])
async def test_an_honest_gap_is_a_gap_in_every_flow_and_nothing_is_ordered_for_it(flow: str, tmp_path: Path) -> None:
    text = "B-207: 7 pieces. When more come could not be found out."

    def judge(request: ModelRequest) -> Any:
        lacks = {"part": "when more come", "request": "order twelve", "admitted": True}
        return {**confirms(request), "missing": [lacks]}

    named = [{"n": 1, "name": "when more come", "reason": "No tool says it."}]
    model = Played(LOOK, texts=[text, text], judge=judge, missing=named)
    answer = await run(model, tmp_path, flow=flow)
    assert (answer.status.value, answer.text) == ("partial", text)
    assert [(each.name, each.reason) for each in answer.gaps] == [("when more come", "No tool says it.")]
    assert [each["admitted"] for each in model.briefs["missing"][0]["missing"]] == [True]
    assert len(answer.document["work_orders"]) == (flow == "work-order")
    assert model.briefs["judge"][0]["context"].keys() == {"today", "tools"}, "nothing of Leadhand's own"


async def test_with_a_review_model_the_lead_writes_the_answer_and_the_review_model_judges_it(tmp_path: Path) -> None:
    model = Played(LOOK, texts=["B-207: 7 pieces."], judge=confirms)
    await run(model, tmp_path, model="lead", review_model="reviewer")
    by = {each.worker: each.model for each in model.requests}
    assert (by["compose"], by["review"], by["judge"]) == ("lead", "reviewer", "reviewer")
    assert not model.briefs["review"][0].get("compose")


async def test_a_typed_answer_is_no_evidence_for_itself_and_the_judge_sees_the_instructions(tmp_path: Path) -> None:
    class Stock(BaseModel):
        item: str
        pieces: int

    clerk = Worker("clerk", "Ten pieces are kept back: subtract them.", tools=["stock"], output=Stock)

    @flow
    async def counted(run: FlowContext):
        return await run.ask(clerk, item="B-207", final=True)

    briefs: list[dict[str, Any]] = []

    def model(request: ModelRequest) -> Any:
        if request.worker == "judge":
            briefs.append(brief_of(request))
            return confirms(request)
        made = any(each.role == "tool" for each in request.messages)
        return says('{"item": "B-207",\n "pieces": 7}') if made else calls("stock", item="B-207")

    settings: dict[str, Any] = {"models": ScriptedModel(model), "tools": [stock], "flows": [counted], "check": "judge"}
    async with leadhand_of(home=tmp_path, **settings) as lead:
        answer = await lead.run(REQUEST, flow="counted")
    assert (answer.status.value, answer.value) == ("succeeded", {"item": "B-207", "pieces": 7})
    (brief,) = briefs
    (facts,) = brief["evidence"].values()
    assert "written" not in facts
    assert brief["context"]["instructions"] == {"clerk": clerk.instructions}


@pytest.mark.parametrize("missing", [True, False])
async def test_what_an_answer_says_was_done_and_was_not_is_ordered_if_it_is_missing_else_corrected(
    missing: bool, tmp_path: Path
) -> None:
    texts = (LIES[0], "B-207: 7 pieces. Nothing was ordered.")
    model = Played(LOOK, texts=texts, judge=marks(LIES[0]), missing=[{"n": 1, "reason": "no call"}] if missing else ())
    answer = await run(model, tmp_path)
    assert [each["part"] for each in model.briefs["missing"][0]["missing"]] == [LIES[0]]
    orders = answer.document["work_orders"]
    assert [each["name"] for order in orders[1:] for each in order["subtasks"]] == ([LIES[0]] if missing else [])
    assert missing or (answer.status.value, answer.text, answer.gaps) == ("succeeded", texts[1], ())


async def test_the_lead_can_name_what_is_missing_and_order_the_call_that_does_it(tmp_path: Path) -> None:
    call = {"tool": "order_item", "args": {"item": "B-207", "pieces": 12}}
    named = {"n": 1, "name": "order 12 pieces of B-207", "reason": "nothing was ordered", **call}
    model = Played(LOOK, texts=(LIES[0], LIES[1], LIES[1]), judge=marks(LIES[0]), missing=[named])
    answer = await run(model, tmp_path)
    (brief, *_) = model.briefs["missing"]
    assert brief["missing"][0]["undone"]
    assert {each["name"] for each in brief["tools"]} >= {"order_item"}
    ordered = answer.document["work_orders"][1]["subtasks"]
    assert [(each["name"], each["tool"], each["args"]) for each in ordered] == [(named["name"], *call.values())]


async def test_an_answer_in_a_fence_of_markdown_is_given_without_it(tmp_path: Path) -> None:
    model = Played(LOOK, texts=["```markdown\nB-207: **7** pieces.\n```"], judge=confirms)
    assert (await run(model, tmp_path)).text == "B-207: **7** pieces."


async def test_the_judge_of_a_part_sees_the_whole_answer_and_the_date(tmp_path: Path) -> None:
    texts = (f"B-207: 7 pieces.\n\n{LIES[0]}", f"B-207: 7 pieces.\n\n{LIES[1]}")
    model = Played(LOOK, texts=texts, judge=marks(LIES[0]))
    await run(model, tmp_path)
    first, second = (each["context"] for each in model.briefs["judge"])
    assert first.keys() == {"today", "tools"}
    assert first["tools"] == {"stock": "How many pieces are in stock."}
    assert second["answer"].split("\n") == ["B-207: 7 pieces.", LIES[1]]


@pytest.mark.parametrize("approves", [True, False])
async def test_the_judge_and_the_reviewer_see_what_a_person_decided(approves: bool, tmp_path: Path) -> None:
    model = Played(LOOK, ORDER, texts=["So it is.", "So it is."], judge=confirms)
    store = MemoryStore(SystemClock())
    settings: dict[str, Any] = {"store": store, "home": tmp_path, "check": "judge"}
    async with leadhand_of(models=ScriptedModel(model), tools=[stock, order_item], **settings) as lead:
        waiting = await lead.start(REQUEST)
        await waiting.wait()
        for each in await waiting.approvals():
            if approves:
                await waiting.approve(each, args={"item": "B-207", "pieces": 8}, reason="we only need eight")
            else:
                await waiting.deny(each, reason="we only need eight")
        await waiting.answer()

    judged = [each for each in model.briefs["judge"][0]["calls"] if each["tool"] == "order_item"]
    assert [(each["ok"], each["args"]["pieces"]) for each in judged] == [(approves, 8 if approves else 12)]
    assert "we only need eight" in str(judged)
    assert "we only need eight" in str(model.briefs["review"][0]["subtasks"])


@pytest.mark.parametrize(("strict", "status"), [(False, "succeeded"), (True, "partial")])
async def test_an_answer_that_the_judge_could_not_judge_says_why(strict: bool, status: str, tmp_path: Path) -> None:
    def broken(_: ModelRequest) -> Any:
        return fails("unavailable", "http_401", "no such key")

    answer = await run(Played(LOOK, texts=["B-207: 7 pieces."], judge=broken), tmp_path, strict=strict)
    assert answer.status.value == status
    assert answer.document["evidence"]["not_checked"] == 1
    assert "no such key" in answer.document["evidence"]["not_judged"]
    assert "no such key" in str(answer)


async def test_a_round_has_a_bounded_number_of_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MOST_CLAIMS", 2)
    monkeypatch.setattr(judging, "MOST_REQUESTS", 3)
    text = "\n\n".join(f"Statement {n}." for n in range(9))
    model = Played(LOOK, texts=[text], judge=confirms)
    answer = await run(model, tmp_path)
    assert (answer.status.value, answer.text, len(model.briefs["judge"])) == ("succeeded", text, 3)
    assert (answer.evidence.confirmed, answer.evidence.not_checked) == (6, 3)


async def test_descriptions_and_gaps_leave_room_for_claims_and_evidence(tmp_path: Path) -> None:
    model = Played(LOOK, texts=["B-207: 7 pieces."], judge=confirms)
    store = MemoryStore(SystemClock())

    @tool(name="stock", description="x" * 10_000)
    def wordy(item: str) -> ToolReturn:
        return ToolReturn(summary=f"{item}: 7 pieces", raw={"item": item, "pieces": 7})

    settings: dict[str, Any] = {"store": store, "home": tmp_path, "check": "judge", "model": "small"}
    async with leadhand_of(models=Small(model), tools=[wordy], **settings) as lead:
        answer = await lead.run(REQUEST)
    (asked,) = model.briefs["judge"]
    assert asked["context"].keys() == {"today"}
    assert asked["evidence"]["wo-001.0"]["returned"]["pieces"] == 7
    assert answer.evidence.confirmed == 1
