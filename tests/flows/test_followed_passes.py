"""A process that follows the log of a run, which another one drives, knows what its flow has asked for."""

from __future__ import annotations

from typing import Any

import pytest

from flows.test_own_flow import LANGUAGES, Run, researcher, translator
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam.run import FunctionRun


@flow
async def two_rounds(run: FlowContext) -> Any:
    """Ask the same worker about what others have found, and once more about all of it."""
    found = await run.gather(run.ask(translator, key=each, language=each) for each in LANGUAGES)
    about = await run.gather(run.ask(researcher, about=each) for each in found)
    return await run.ask(researcher, about=about)


@pytest.mark.parametrize("batch", range(1, 12))
def test_whatever_was_read_at_once_the_pass_asks_for_the_steps_of_the_log(batch: int) -> None:
    run = Run(two_rounds)
    for key in (*reversed(LANGUAGES), "researcher", "researcher-2", "researcher-3"):
        run.says(key, f"about {key}")
    assert run.finished.answer == "about researcher-3"

    follower = FunctionRun(two_rounds, run.state.definition)
    ends = (*range(batch, len(run.log), batch), len(run.log))
    first, *later = [follower.advanced(replay("run_1", run.log[:end])) for end in ends]
    assert first.main.done
    assert first.steps.keys() == run.state.steps.keys()
    assert all(each is first for each in later), "no other pass was begun"
    assert not first.unclaimed
