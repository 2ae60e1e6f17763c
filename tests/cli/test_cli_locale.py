"""A locale without non-ASCII characters: nothing crashes, and what is written to files is as it was meant."""

from __future__ import annotations

import html
import json
import os
from typing import Any

import pytest

REQUEST = "Weather in Zürich – 🎈?"
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
ENDED = "--- ended ---\n"
SEVERAL = f"""
import json, sys
from leadhand.cli.app import main

for arguments in json.loads(sys.argv[1]):
    if code := main(["runs", *arguments]):
        sys.exit(code)
    print({ENDED!r}, end="", flush=True)
"""
"""Commands one after another in a process, since starting one takes longer than they do."""


@pytest.mark.slow
def test_text_beyond_ascii_survives_an_ascii_locale(leadhand: Any) -> None:
    env = {**os.environ, **ASCII}
    ran = leadhand.process("run", "--offline", REQUEST, env=env)
    assert "Z\\xfcrich" in ran.out
    assert (ran.code, "Traceback" in ran.err) in ((0, False), (3, False))

    run_id, file = leadhand.listing()["run_id"], leadhand.folder / "page.html"
    commands = (
        ("list", "--json"),
        ("show", run_id),
        ("export", run_id, "--html", "--output", str(file)),
        ("export", run_id, "--html"),
        ("export", run_id),
    )
    several = leadhand.process(json.dumps(commands), program=("-c", SEVERAL), env=env)
    assert (several.code, several.out.isascii()) == (0, True)
    listed, shown, filed, page, lines, _ = several.out.split(ENDED)
    assert json.loads(listed)[0]["request"] == REQUEST
    assert shown.splitlines()[1] == "Weather in Z\\xfcrich \\u2013 \\U0001f388?"
    assert filed == ""
    assert REQUEST in html.unescape(file.read_text("utf-8"))
    assert REQUEST in html.unescape(page)
    assert json.loads(lines.splitlines()[0])["definition"]["request"] == REQUEST

    refused = leadhand.process("runs", "list", "--home", str(leadhand.folder / "hü"), env=env)
    assert (refused.code, "LC_ALL=C.UTF-8" in refused.err) == (2, True)
