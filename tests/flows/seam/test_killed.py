"""Processes that drive a function are killed at any moment: nothing that is finished runs again."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from flows.seam.child import researched
from flows.seam.killing import Theatre
from flows.seam.lives import begun_again, steps_of, wrong_prefixes

STEPS = 1 + 5 * 2 + 1 + 2 * 2
"""A plan, five questions with a summary each, a draft, and two rounds of a critic and a revision: the third is none."""


async def killed_again_and_again(theatre: Theatre, seed: int, *, most: int = 3) -> None:
    """Kill a run after a random number of model calls, several times, then let it end; and count."""
    rng, run_id, kills = random.Random(seed), "", 0
    while kills < most:
        config = {"resume": run_id} if run_id else {"flow": "researched"}
        async with theatre.life(**config, delay_s=0.03) as life:
            run_id = (await life.said())["run_id"]
            await theatre.until("asked", len(theatre.noted("asked")) + rng.randint(1, 5), life)
            await asyncio.sleep(rng.random() * 0.05)
            if life.over:
                break
            await life.kill()
        kills += 1
        if (await theatre.log(run_id))[-1].event.type == "run_finished":
            break  # it was killed between its last event and its end
    else:
        async with theatre.life(resume=run_id, delay_s=0.0) as life:
            await life.said()
            ended = await life.said()
        assert (ended["status"], ended["answer"]) == ("succeeded", "draft!!")
    log = await theatre.log(run_id)
    assert log[-1].event.type == "run_finished"
    assert begun_again(log) == []
    assert len(steps_of(log)) == STEPS
    assert wrong_prefixes(researched, log, run_id) == []
    asked = theatre.noted("asked")
    assert len(asked) <= STEPS + 4 * kills, "more was asked again than what was under way"


async def test_a_run_that_is_killed_three_times_repeats_only_what_was_under_way(tmp_path: Path) -> None:
    await killed_again_and_again(Theatre(tmp_path), 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
async def test_so_does_one_that_is_killed_at_other_moments(seed: int, tmp_path: Path) -> None:
    await killed_again_and_again(Theatre(tmp_path), seed, most=4)


@pytest.mark.slow
async def test_so_does_one_on_postgres(tmp_path: Path, postgres_tables_url: str) -> None:
    await killed_again_and_again(Theatre(tmp_path, postgres_tables_url), 9)
