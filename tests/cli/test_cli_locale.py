"""A locale without non-ASCII characters: nothing crashes, and what is written to files is as it was meant."""

from __future__ import annotations

import html
import json
import os
from typing import Any

REQUEST = "Weather in Zürich – 🎈?"
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


def test_text_beyond_ascii_survives_an_ascii_locale(leadhand: Any) -> None:
    env = {**os.environ, **ASCII}
    ran = leadhand.process("run", "--offline", REQUEST, env=env)
    assert "Z\\xfcrich" in ran.out
    assert (ran.code, "Traceback" in ran.err) in ((0, False), (3, False))

    listed = leadhand.process("runs", "list", "--json", env=env)
    assert listed.out.isascii()
    (run,) = listed.json
    assert run["request"] == REQUEST
    shown = leadhand.process("runs", "show", run["run_id"], env=env)
    assert (shown.code, shown.out.splitlines()[1]) == (0, "Weather in Z\\xfcrich \\u2013 \\U0001f388?")

    file = leadhand.folder / "page.html"
    assert leadhand.process("runs", "export", run["run_id"], "--html", "--output", str(file), env=env).code == 0
    assert REQUEST in html.unescape(file.read_text("utf-8"))
    page = leadhand.process("runs", "export", run["run_id"], "--html", env=env).out
    assert page.isascii()
    assert REQUEST in html.unescape(page)
    lines = leadhand.process("runs", "export", run["run_id"], env=env).out.splitlines()
    assert json.loads(lines[0])["definition"]["request"] == REQUEST

    refused = leadhand.process("runs", "list", "--home", str(leadhand.folder / "hü"), env=env)
    assert refused.code == 2
    assert "the locale cannot express the file name" in refused.err
    assert "Set LC_ALL=C.UTF-8." in refused.err
