"""The input schema of a worker: what does not fit it is refused before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects.conftest import declare, lead_of, led, played, requests_of

from leadhand import RunStatus, UsageError
from leadhand.core.errors import ConfigurationError
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, says


@pytest.fixture(autouse=True)
def grader(project: Path) -> None:
    schema = "{type: object, properties: {deck: {type: string}, strict: {type: boolean}}, required: [deck]}"
    declare(project, "grader", f"input: {schema}", does="Grade the deck.")


@pytest.mark.parametrize(
    ("request_", "why"), [("Grade solar.md", "grader"), ('{"strict": true}', '"deck"'), ('{"deck": 5}', "deck: 5")]
)
async def test_a_request_that_does_not_fit_is_refused(project: Path, request_: str, why: str) -> None:
    with ScriptedModel() as script, pytest.raises(UsageError) as refused:
        await led(project, script, request_, "grader")
    assert why in refused.value.what
    assert '"required":["deck"]' in refused.value.how
    assert not script.requests


async def test_a_request_that_fits_is_carried_out(project: Path) -> None:
    answer = await led(project, ScriptedModel([says("good")]), '{"deck": "solar.md"}', "grader")
    assert answer.text.startswith("good")


async def test_a_call_that_does_not_fit_is_refused_with_the_schema_and_starts_nothing(project: Path) -> None:
    given = ("Grade solar.md", '{"deck": "solar.md"}')
    turns = [*(calls("worker_call", worker="grader", input=each) for each in given), says("It is good.")]
    script = played(grader=[says("good")], orchestrator=turns)
    assert (await led(project, script)).status is not RunStatus.FAILED
    (graded,) = requests_of(script, "grader")
    assert brief_of(graded)["input"] == {"deck": "solar.md"}
    assert '"deck"' in requests_of(script, "orchestrator")[1].messages[-1].content.replace("\\", "")


async def test_a_worker_of_the_project_cannot_have_the_name_of_one_of_the_flow(project: Path) -> None:
    declare(project, "review")
    async with lead_of(project, ScriptedModel()) as lead:
        with pytest.raises(ConfigurationError, match=r"review .*work-order"):
            await lead.start("x")
