"""A report that is longer than one reply of its model is written in several, which are one draft."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus
from leadhand.ports.models import ModelRequest
from leadhand.testing.faults import request_of
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import Step, brief_of

from .reports import REVISE, SOUND, TOPIC, cut, in_turn, lead, model, report, search

BEGINNING, _, END = SOUND.partition("## Costs")
COSTS = f"## Costs{END}"


def writing(scripted: Any) -> list[ModelRequest]:
    return [each for each in scripted.requests if each.worker == "writer"]


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        (f"{BEGINNING}## Costs\n\nThe installation co", COSTS.removeprefix("## Costs")),
        (f"{BEGINNING}## Costs\n\nThe installation costs 18,000 euros [p", COSTS),
        (BEGINNING + "## Co", COSTS),
        (BEGINNING + "## Costs\n\nThe installation", SOUND),
    ],
    ids=["in a sentence", "in a citation", "in a heading", "begun again"],
)
def test_a_draft_that_was_cut_off_is_continued(home: Path, first: str, rest: str) -> None:
    scripted = model(writer=in_turn(cut(first), rest))
    answer = report(home, scripted)

    assert (answer.status, answer.gaps) == (RunStatus.SUCCEEDED, ())
    (draft,) = answer.document["task"]["drafts"]
    assert [line for line in draft["text"].splitlines() if line] == [line for line in SOUND.splitlines() if line]
    assert len(writing(scripted)) == 2
    said = writing(scripted)[1].messages[-1].text
    assert first.rstrip().rpartition("\n")[0].rstrip().rpartition("\n")[2] in said


def test_a_draft_of_many_parts_is_one_text(home: Path) -> None:
    lines = [f"{n}. The installation costs 18,000 euros [p2]." for n in range(1, 40)]
    tens = ["\n".join(lines[at : at + 10]) for at in range(0, 40, 10)]
    parts = [f"{BEGINNING}## Costs\n\n{tens[0]}", tens[1], tens[2]]
    scripted = model(writer=in_turn(*(cut(f"{part}\n99. The inst") for part in parts), tens[3]))
    answer = report(home, scripted)

    text = answer.document["task"]["drafts"][0]["text"]
    assert text == f"{BEGINNING}## Costs\n\n" + "\n".join(lines)
    assert answer.status is RunStatus.SUCCEEDED
    assert {each.max_tokens for each in writing(scripted)} == {2_000}, "each reply was reserved as any other"


def test_the_word_in_which_a_draft_was_cut_off_is_not_shown_before_the_draft_continues(home: Path) -> None:
    pieces: list[str] = []
    scripted = model(writer=in_turn(cut(f"{BEGINNING}## Costs\n\nThe key is sk-abcdefgh"), COSTS))
    lead(home, scripted, on_text=lambda *said: pieces.append(said[2])).run_sync(TOPIC, flow="report")
    shown = "".join(pieces)
    assert "The key is " in shown
    assert "sk-abc" not in shown, "it may be the first part of a secret"


def test_a_draft_that_never_ends_fails_with_what_helps(home: Path) -> None:
    numbers = iter(range(1_000))
    scripted = model(writer=lambda _: cut(f"Part {next(numbers)} of it.\n" * 3))
    answer = report(home, scripted)

    assert answer.status is RunStatus.PARTIAL, "the research is usable"
    failed = next(each for each in answer.document["steps"] if each["id"] == "draft-1")["failure"]
    assert (failed["type"], "--max-output-tokens" in failed["next_action"]) == ("cut_answer", True)
    assert "8 replies of 2000 tokens" in failed["message"]
    assert len(writing(scripted)) == 8
    assert "666 words" in str(writing(scripted)[-1].messages[-1])


def test_a_draft_that_repeats_itself_is_written_again_in_fewer_words(home: Path) -> None:
    scripted = model(writer=in_turn(*[cut(f"{BEGINNING}and so on.\nand so o")] * 2, SOUND))
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["task"]["drafts"][0]["text"] == SOUND
    assert len(writing(scripted)) == 3


def test_a_revision_of_a_long_draft_is_continued_too(home: Path) -> None:
    begins = cut(f"{BEGINNING}## Co")
    scripted = model(draft_1=in_turn(begins, COSTS), draft_2=in_turn(begins, COSTS), review_1=REVISE)
    answer = report(home, scripted)

    drafts = [each["text"] for each in answer.document["task"]["drafts"]]
    assert (answer.status, drafts) == (RunStatus.SUCCEEDED, [SOUND, SOUND])


def test_other_answers_that_were_cut_off_do_not_count_as_whole(home: Path) -> None:
    answer = report(home, model(planner=cut("The plan is")))

    assert answer.status is RunStatus.FAILED
    assert "--max-output-tokens" in answer.document["steps"][0]["failure"]["next_action"]


async def test_a_draft_is_continued_over_http(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = {"most": "planner", "question": "researcher", "most_words": "writer", "claims": "reviewer"}
    scripted = model(writer=in_turn(cut(f"{BEGINNING}## Costs\n\nThe inst"), COSTS))

    async def said(body: dict[str, Any]) -> Any:
        asked = request_of(body, "m")
        worker = next(workers[fact] for fact in workers if fact in brief_of(asked))
        reply = await scripted.ask(asked.evolve(worker=worker, key="run/x/t1", partial=True))
        calls = tuple((call.name, call.arguments or {}) for call in reply.message.tool_calls)
        return Step(text=reply.message.text, calls=calls, finish_reason=reply.finish_reason)

    async with ScriptedServer(said) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        async with Leadhand("openai_compatible:m", tools=[search], home=home) as opened:
            answer = await opened.run(TOPIC, flow="report")
    assert answer.status is RunStatus.SUCCEEDED, answer.text
    assert answer.text.count("## Costs") == 1
