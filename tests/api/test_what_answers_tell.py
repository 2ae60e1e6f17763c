"""What a model's text does not say is added to the answer: what was done for good, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Answer, FailureClass, Leadhand, ToolError, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, plans, reviews, says, subtask

LOOK = subtask("look", "look_tool", n=3)
DROPS_THE_SECOND = reviews(accept=["wo-001.0"], drop={"wo-001.1": "not needed"})
DONE = "Done for good; leave it out if you ask again:\n"


@tool
async def look_tool(n: int) -> ToolReturn:
    """Look for a book."""
    return ToolReturn(summary=f"book {n} is on shelf 7", raw=n)


@tool(retries=0)
async def stock_tool(n: int) -> str:
    """Look up the stock."""
    raise ToolError("no entry found", type="missing", class_=FailureClass.UNAVAILABLE)


@tool(effect="once")
async def pay_tool(name: str, euros: int) -> ToolReturn:
    """Pay somebody."""
    return ToolReturn(summary=f"paid {euros} euros to {name}", raw=euros)


@tool(effect="once")
async def mail_tool(name: str) -> ToolReturn:
    """Send a mail."""
    return ToolReturn(summary="ok", raw="ok")


async def _answer(home: Path, *subtasks: dict[str, Any], **script: Any) -> Answer:
    model = ScriptedModel(lenient=True, plan=[plans(*subtasks)], **script)
    tools = [look_tool, stock_tool, pay_tool, mail_tool]
    async with Leadhand(models=model, tools=tools, home=home, approve="auto", max_steps=1) as lead:
        return await lead.run("Look for book 3, and pay Bob 30 euros.")


MAIL = subtask("mail", "mail_tool", name="Robert")
PAY = subtask("pay", "pay_tool", name="Bob", euros=30)


@pytest.mark.parametrize(
    "review",
    [DROPS_THE_SECOND, reviews(accept=["wo-001.0", "wo-001.1"], answer="I looked: book 3 is on shelf 7.")],
    ids=["dropped", "accepted"],
)
async def test_a_call_whose_return_is_a_part_of_another_word_is_told(home: Path, review: Any):
    answer = await _answer(home, LOOK, MAIL, review=[review], compose=says("I looked: book 3 is on shelf 7."))

    assert answer.text.endswith(f"{DONE}- mail_tool(name='Robert'): ok")


async def test_a_text_that_denies_a_payment_of_a_dropped_subtask_does_not_tell_it(home: Path):
    denial = "Book 3 is on shelf 7. Nobody paid 30 euros to Bob."
    answer = await _answer(home, LOOK, PAY, review=[DROPS_THE_SECOND], compose=says(denial))

    assert answer.text.endswith(f"{DONE}- pay_tool(name='Bob', euros=30): paid 30 euros to Bob")


async def test_a_payment_that_was_made_twice_is_told_twice(home: Path):
    review = reviews(accept=["wo-001.0", "wo-001.1"], answer="Done: paid 30 euros to Bob.")
    answer = await _answer(home, PAY, {**PAY, "name": "pay again"}, review=[review])

    told = "- pay_tool(name='Bob', euros=30): paid 30 euros to Bob"
    assert answer.text.endswith(f"{DONE}{told}\n{told}")


async def test_a_text_that_says_what_was_done_is_left_as_it_is(home: Path):
    for said in ("I have paid Bob 30 euros.", "He pagado 30 euros a Bob.", "paid 30 euros to Bob"):
        review = reviews(accept=["wo-001.0"], answer=said)
        assert (await _answer(home, PAY, review=[review])).text == said


@pytest.mark.parametrize(
    "said",
    [
        "Book 3 is on shelf 7; an entry was found in stock, no doubt about it.",
        "Book 3 is on shelf 7, and there is stock.",
    ],
)
async def test_a_gap_is_told_although_its_words_are_in_a_cheerful_sentence(home: Path, said: str):
    answer = await _answer(
        home, LOOK, subtask("stock", "stock_tool", n=3), review=[DROPS_THE_SECOND], compose=says(said)
    )

    assert answer.text.startswith(said)
    assert "Not answered:\n- stock: no entry found" in answer.text


async def test_a_gap_that_a_sentence_names_with_its_reason_is_not_repeated(home: Path):
    said = "Book 3 is on shelf 7. For the stock, no entry found."
    answer = await _answer(
        home, LOOK, subtask("stock", "stock_tool", n=3), review=[DROPS_THE_SECOND], compose=says(said)
    )

    assert answer.text == said
