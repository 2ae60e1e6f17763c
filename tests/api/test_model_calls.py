"""One model call of a run, as people see it: prompt, reply, usage. Of code's calls, the prompt is what it asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from api.test_code_workers import Facts, coded

from leadhand import Leadhand
from leadhand.app.steering.model_calls import model_call
from leadhand.core.errors import UsageError
from leadhand.flows.flow import Desk
from leadhand.testing.scripted_model import ScriptedModel, gives, says


async def test_the_prompt_of_code_is_what_it_asked_with_its_rejected_answers(home: Path) -> None:
    async def code(desk: Desk) -> str:
        found = await desk.ask({"topic": "heat pumps"}, output=Facts)
        return str(found.facts)

    steps = [gives({"facts": "none"}), gives({"facts": ["they heat"]}).costing(input_tokens=900, output_tokens=20)]
    model = ScriptedModel().on(lambda request: request.worker == "other", always="hello").on(lambda _: True, *steps)
    async with Leadhand(models=model, flows=[coded(code)], home=home) as lead:
        run = await lead.start("heat pumps", flow="coded")
        await run.answer()
        runtime = await lead.runtime()
        second = await model_call(runtime, run.run_id, "coder-1/t2")
        sent = [request for request in model.requests if request.worker == "coder"][1]

        assert [each.role for each in second.prompt.messages] == ["system", "user", "assistant", "user"]
        assert [each.text for each in second.prompt.messages] == [getattr(each, "text", "") for each in sent.messages]
        assert sent.output is not None
        assert second.prompt.output == sent.output.schema_
        assert second.reply is not None
        assert second.reply.value == {"facts": ["they heat"]}
        assert second.usage is not None
        assert (second.usage.input_tokens, second.usage.output_tokens) == (900, 20)
        by_number = await model_call(runtime, run.run_id, str(second.seq))
        assert by_number == second


@pytest.mark.parametrize("name", ["wo-009.0/t1", "1", "0", "99999", "", "²"])
async def test_what_is_no_model_call_is_refused(home: Path, name: str) -> None:
    async with Leadhand(models=ScriptedModel(lambda _: says("hi")), flows=[coded(_hello)], home=home) as lead:
        run = await lead.start("heat pumps", flow="coded")
        await run.answer()
        with pytest.raises(UsageError):
            await model_call(await lead.runtime(), run.run_id, name)


async def _hello(_desk: Desk) -> str:
    return "hello"
