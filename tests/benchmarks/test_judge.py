"""The benchmark of judges: it asks what a run would ask, counts what the replies are worth, and asks nothing twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks import judge
from benchmarks.judging.cases import FILES, TRUE, read
from benchmarks.judging.scores import scores_of

from leadhand.core.work_result import Claim
from leadhand.testing.faults import status
from leadhand.testing.model_server import ScriptedServer
from leadhand.verify.judge import ClaimDoubt, MissingPart, Verdicts

CASES = """
shop:
  request: What does the X100 cost, and how many do we have?
  evidence:
    wo-001.0: {called: [{tool: price_lookup, args: {article: X100}}], returned: {price_eur: 129.9}}
    wo-001.1: {called: [{tool: stock_lookup, args: {article: X100}}], returned: {Hamburg: 14, Köln: 3}}
  sources:
    '1': {evidence: [wo-001.0], url: 'https://shop.example/x100'}
  honest:
  - {kind: plain, text: "It costs 129.90 euros [1]. There are 17 in stock."}
  - {kind: value, value: {price: 129.9}}
  lies:
  - {kind: figure, wrong: [219], text: "It costs 219 euros [1]. There are 17 in stock."}
  - {kind: citation, wrong: ["[7]"], text: "It costs 129.90 euros [7]."}
  - {kind: action, wrong: [ordered], text: "I have ordered twelve."}
  omits:
  - {kind: plain, text: "It costs 129.90 euros [1]."}
"""
SOURCES = """
@ a-1 | A title | https://a.example/ | 2026-01-02
The lamp draws 70 watts.
+ The lamp draws 70 watts [*].
- figure | The lamp draws 90 watts [*].

@ a-2 | Another title | https://b.example/ |
The tower is 30 metres high.
+ The tower is 30 m high [*], and the lamp draws 70 W [p1].
- swapped | The tower is 70 metres high [*].
"""


class OwnJudge:
    """Knows the false words of the cases by heart, and proves what it can."""

    name = "own"

    def __init__(self, fails: Callable[[str], bool] = lambda _: False) -> None:
        self.asked = 0
        self._fails = fails

    async def verify(
        self, claims: Sequence[Claim], evidence: Mapping[str, Any], calls: Sequence[Any], request: str
    ) -> Verdicts:
        self.asked += 1
        if any(self._fails(each.text) for each in claims):
            raise RuntimeError("out of order")
        false = [each for each in claims if any(word in each.text for word in ("219", "ordered", "90 w", "70 metres"))]
        proofs = {"219": {"evidence": "wo-001.0", "quote": "129.9"}, "ordered": {"action": True}}
        doubts = [
            ClaimDoubt(claim=each.n, part=word, **proof)  # type: ignore[arg-type]
            for each in false
            for word, proof in proofs.items()
            if word in each.text
        ]
        complete = "17" in claims[-1].text or "ordered" in claims[-1].text
        missing = [MissingPart(part="the stock", request="how many do we have")]
        return Verdicts(
            verdicts={each.n: "contradicted" if each in false else "confirmed" for each in claims},  # type: ignore[misc]
            doubts=tuple(doubts),
            missing=() if complete else tuple(missing),
        )


OWN = OwnJudge()


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "shop.yaml").write_text(CASES, encoding="utf-8")
    (tmp_path / "sources.txt").write_text(SOURCES, encoding="utf-8")
    return [str(tmp_path / "shop.yaml"), str(tmp_path / "sources.txt")]


@pytest.fixture
def measured(files: list[str], capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Runs the command, and returns its exit code and what it prints as JSON."""

    def measure(*arguments: str) -> tuple[int, dict[str, Any]]:
        code = judge.main([*arguments, "--cases", ",".join(files), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return measure


def rows(found: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    return {
        (row["corpus"], row["kind"]): (row["cases"], row["doubted"], row["contradicted"], row["not_checked"])
        for row in found["rows"]
    }


def test_all_cases_can_be_read_and_each_is_said_by_some_claim() -> None:
    drafts = read()
    assert {draft.corpus for draft in drafts} == {path.stem for path in FILES}
    assert all(each.claims for draft in drafts for each in draft.statements)
    assert all(draft.statements or draft.omits for draft in drafts)


def test_a_limit_takes_texts_from_all_parts_of_each_corpus() -> None:
    drafts = read(most=3)
    counts = [sum(draft.corpus == path.stem for draft in drafts) for path in FILES]
    assert max(counts) == 3
    assert min(counts) >= 2


def test_the_exact_checks_doubt_no_true_claim() -> None:
    drafts = read()
    scores = scores_of(drafts, {}, judge.Replies())
    assert [row for row in scores.rows.values() if not row.false and row.doubted] == []
    assert scores.total(false=True).doubted > 0


def test_a_verifier_is_measured_by_what_of_its_verdicts_counts(
    measured: Callable[..., tuple[int, dict[str, Any]]],
) -> None:
    code, found = measured("--verifier", f"{__name__}:OwnJudge")
    assert code == 0
    assert rows(found) == {
        ("shop", "plain"): (2, 0, 0, 0),
        ("shop", "value"): (1, 0, 0, 0),
        ("shop", "figure"): (1, 1, 1, 0),  # with a quotation
        ("shop", "citation"): (1, 1, 0, 0),  # by the exact checks alone
        ("shop", "action"): (1, 1, 1, 0),
        ("sources", TRUE): (2, 0, 0, 0),
        ("sources", "figure"): (1, 1, 0, 0),  # a contradiction without a quotation is a doubt
        ("sources", "swapped"): (1, 1, 0, 0),
    }
    assert (found["missed"], found["doubted"], found["cases"]) == (0, 0, 10)
    assert (found["omissions"], found["omissions_named"]) == (1, 1)
    assert (found["complete"], found["complete_called_incomplete"]) == (2, 1)
    assert (found["questions"], found["requests"]) == (7, 7)


def test_without_a_judge_nothing_else_is_checked(measured: Callable[..., tuple[int, dict[str, Any]]]) -> None:
    code, found = measured("--exact")
    assert code == 0
    assert (found["caught"], found["not_checked"], found["requests"]) == (1, 9, 0)
    assert found["missed"] == 0.8


def test_what_fails_is_not_checked_and_asked_again_the_next_time(
    measured: Callable[..., tuple[int, dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = str(tmp_path / "kept.jsonl")
    arguments = ("--verifier", f"{__name__}:OWN", "--keep", keep)
    monkeypatch.setattr(f"{__name__}.OWN", OwnJudge(lambda text: "219" in text))
    code, found = measured(*arguments)
    assert (code, found["without_reply"]) == (3, 1)
    assert rows(found)["shop", "figure"] == (1, 0, 0, 1)
    monkeypatch.setattr(f"{__name__}.OWN", OwnJudge())
    code, found = measured(*arguments)
    assert (code, OWN.asked, found["asked_now"], found["not_checked"]) == (0, 1, 1, 0)
    with Path(keep).open("a") as file:
        file.write('\n["cut off')
    code, found = measured(*arguments)
    assert (code, OWN.asked, found["asked_now"], found["not_checked"]) == (0, 1, 0, 0)


def replied(body: dict[str, Any]) -> dict[str, Any]:
    """Confirm everything but 219."""
    facts = json.loads(body["messages"][1]["content"])
    verdicts = {str(each["n"]): "unconfirmed" if "219" in each["text"] else "confirmed" for each in facts["claims"]}
    return {"verdicts": verdicts, "doubts": [], "missing": []}


async def test_a_model_is_asked_once_for_each_text_and_never_again(
    measured: Callable[..., tuple[int, dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer(replied) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", "set back after the test")
        arguments = ("--model", "openai_compatible:scripted", "--base-url", server.base_url)
        arguments = (*arguments, "--keep", str(tmp_path / "kept.jsonl"))
        code, found = await asyncio.to_thread(measured, *arguments)
        assert code == 0
        assert rows(found)["shop", "figure"] == (1, 1, 0, 0)
        assert (found["caught"], found["doubted"], found["not_checked"]) == (2, 0, 0)
        assert len(server.requests) == found["requests"] == found["asked_now"] == 7
        assert found["input_tokens"] > 0
        asked = server.requests[0].body
        assert set(json.loads(asked["messages"][1]["content"])) == {"request", "claims", "evidence", "calls"}
        code, again = await asyncio.to_thread(measured, *arguments)
        assert len(server.requests) == 7
        assert (code, again["asked_now"], again["rows"]) == (0, 0, found["rows"])


async def test_garbage_is_not_checked_and_not_asked_again(
    measured: Callable[..., tuple[int, dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer(lambda _: "All of it is fine!") as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        arguments = ("--model", "openai_compatible:scripted", "--keep", str(tmp_path / "kept.jsonl"))
        code, found = await asyncio.to_thread(measured, *arguments)
        assert (code, found["caught"], found["not_checked"], found["without_reply"]) == (0, 1, 9, 0)
        assert found["requests"] == len(server.requests)
        before = len(server.requests)
        await asyncio.to_thread(measured, *arguments)
        assert len(server.requests) == before


async def test_a_server_that_refuses_leaves_all_questions_open(
    measured: Callable[..., tuple[int, dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = tmp_path / "kept.jsonl"
    async with ScriptedServer(lambda _: status(401)) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        code, found = await asyncio.to_thread(measured, "--model", "openai_compatible:scripted", "--keep", str(keep))
    assert (code, found["without_reply"], found["asked_now"]) == (3, 7, 0)
    assert not keep.exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--model", "offline"], 2),
        (["--model", "unknown:model"], 6),
        (["--verifier", "nowhere:JUDGE"], 2),
        (["--exact", "--cases", "unknown"], 2),
    ],
)
def test_what_cannot_judge_is_refused_with_advice(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge.main(arguments) == code
    assert len(capsys.readouterr().err.splitlines()) == 2
