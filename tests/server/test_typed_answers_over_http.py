"""Typed answers over HTTP: ``output_schema`` in the body, ``value`` in the run document."""

from __future__ import annotations

from typing import Any

import pytest
from server.conftest import OpenDoor

from leadhand.testing.scripted_model import ScriptedModel, gives, plans, subtask

SCHEMA = {"type": "object", "properties": {"noise_db": {"type": "integer"}}, "required": ["noise_db"]}
VALUE = gives({"noise_db": 40})


def team(*shapes: Any) -> ScriptedModel:
    plan = plans(subtask("paris", "measure", place="Paris"))
    return ScriptedModel(plan=plan, shape=shapes, lenient=True)


async def test_a_run_gives_its_answer_in_the_shape_of_a_schema_and_so_do_follow_ups(open_door: OpenDoor) -> None:
    api = await open_door(models=team(VALUE, VALUE))
    body = {"request": "measure Paris", "output_schema": SCHEMA}
    run_id = (await api.post("/api/runs", body)).json()["run_id"]
    done = await api.over(run_id)
    assert (done["status"], done["value"]) == ("succeeded", {"noise_db": 40})
    followed = await api.post(f"/api/runs/{run_id}/follow-up", {"request": "measure Paris again"})
    later = await api.over(followed.json()["run_id"])
    assert later["value"] == {"noise_db": 40}


async def test_without_a_schema_the_value_is_null(open_door: OpenDoor) -> None:
    api = await open_door(models=team())
    assert (await api.over(await api.started("measure Paris")))["value"] is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        "text",
        {  # its check would stop the server for ever
            "type": "object",
            "$defs": {f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(40)} | {"p40": {}},
            "allOf": [{"$ref": "#/$defs/p0"}],
        },
    ],
    ids=["array", "text", "exponential"],
)
async def test_a_schema_that_cannot_be_used_is_refused(open_door: OpenDoor, schema: Any) -> None:
    api = await open_door(models=team())
    response = await api.post("/api/runs", {"request": "measure Paris", "output_schema": schema})
    assert response.status_code == (422 if schema == "text" else 409)
    assert [each["where"] for each in response.json()["errors"]] == ["body.output_schema"]
