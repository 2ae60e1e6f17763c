"""References to secrets in the arguments of an operation, which is one of many of an API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from leadhand import ToolError, openapi

TOKEN = {"name": "token", "in": "query", "schema": {"type": "string", "pattern": "^tok-"}}


async def test_a_reference_to_a_secret_fits_wherever_a_text_does(tmp_path: Path) -> None:
    """What it stands for is checked when the call is made."""
    gets = {f"/things/{n}": {"get": {"operationId": f"get{n}", "parameters": [TOKEN]}} for n in range(30)}
    path = tmp_path / "api.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "servers": [{"url": "https://api.example"}], "paths": gets}))
    connection = openapi(str(path)).connect({})
    (spec,) = [each.spec for each in await connection.tools() if each.name.endswith("_call")]

    def checked(token: str) -> None:
        args: dict[str, Any] = {"operation": "get7", "arguments": {"token": token}}
        cast("Any", connection.bind(spec.called_with(args)).check)(args, None)

    checked("[secret:sec_0a1b2c3d4e5f]")
    checked("tok-1")
    with pytest.raises(ToolError):
        checked("x")
    await connection.aclose()
