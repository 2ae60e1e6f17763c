"""What goes over the wire: each worker sees what it uses, stable parts first, with a schema that its answer fits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand import tool
from leadhand.models.openai.forms import Form
from leadhand.models.openai.wire import chat_body, encode


@tool
async def silent(n: int) -> dict[str, int]:
    """Say nothing in words."""
    return {"n": n}


async def test_the_workers_of_a_run_share_the_beginning_of_their_prompts(open_world: Any):
    models = FakeModels(plan(*(ask(f"s{n}", "silent", n=n) for n in range(10, 20))))
    await open_world(models, [silent, Bench().look], worker_calls="always").run("look at ten things")
    sent = [encode(chat_body(request, "m", Form())) for request in models.requests("work")]

    assert len(sent) == 10
    for one, other in pairwise(sent):
        same = next(at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
        assert same / len(one) >= 0.6
    assert [each.name for each in models.requests("work")[0].tools] == ["silent"], "its own tool, and no other"
