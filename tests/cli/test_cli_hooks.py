"""Hooks of files and manifests: every process that has them continues a run that they check."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

HOOKS = """
from leadhand.hooks import BeforeTool, Block, Hook, RequireApproval, before_tool


@before_tool
def no_rome(call):
    return Block("not in Rome") if call.args.get("place") == "Rome" else None


class AskAbove(Hook):
    def __init__(self, amount):
        self.amount = amount

    def before_tool(self, call):
        asks = call.tool == "pay_tool" and call.args["amount"] > self.amount
        return RequireApproval("a large amount") if asks else None


ask_above = AskAbove(20)
"""
PAY = "Pay 30 to Bob"


@pytest.fixture
def hooks(leadhand: Any) -> Iterator[str]:
    """A file with two hooks: a function, and an instance of a class that cannot be made without arguments."""
    path = leadhand.folder / "guards.py"
    path.write_text(HOOKS)
    yield str(path)
    sys.modules.pop("guards", None)  # as another file of this name is imported in the next test


def test_hooks_of_a_file_check_a_run_and_are_needed_to_continue_it(leadhand: Any, hooks: str) -> None:
    line = ("run", "--offline", "--tools", leadhand.tools, "--approve", "auto", "--hooks", hooks)
    started = leadhand.process(*line, PAY)
    assert started.code == 4
    (asked,) = leadhand("approvals", "list", "--json").json
    assert "a large amount" in str(asked)
    run_id = asked["run_id"]
    assert leadhand("runs", "show", run_id, "--json").json["hooks"] == ["guards:no_rome", "guards:AskAbove"]
    assert started.command("runs resume")[-2:] == ["--hooks", hooks]

    approved = leadhand("approvals", "approve", asked["approval_id"])
    assert approved.code == 0
    assert approved.command("runs resume")[-2:] == ["--hooks", "FILE"], "the log names the hooks, and not their file"
    without = leadhand("runs", "resume", run_id, "--tools", leadhand.tools)
    without.refused("guards:no_rome", "--hooks", "leadhand.toml", code="configuration")
    resumed = leadhand.process("runs", "resume", run_id, "--tools", leadhand.tools, "--hooks", hooks)
    assert (resumed.code, leadhand.calls) == (0, {"paid Bob": 1})


def test_a_base_class_that_is_no_hook_itself_does_not_keep_the_hooks_of_its_file_from_use(leadhand: Any) -> None:
    path = leadhand.folder / "house_rules.py"
    path.write_text(
        "from leadhand.hooks import BeforeTool, Block, Hook\n"
        "class Named(Hook):\n    word = ''\n"
        "class Without(Named):\n    def __init__(self, place):\n        self.place = place\n"
        "    def before_tool(self, call: BeforeTool):\n"
        "        return Block('not there') if call.args['place'] == self.place else None\n"
        "class WithoutRome(Without):\n    def __init__(self):\n        super().__init__('Rome')\n"
    )
    line = ("run", "--offline", "--tools", leadhand.tools, "--approve", "auto", "--json", "--hooks", str(path))
    try:
        run = leadhand(*line, "Measure the noise in Rome").json
    finally:
        sys.modules.pop("house_rules", None)
    assert run["hooks"] == ["house_rules:WithoutRome"]
    assert "not there" in run["gaps"][0]["reason"]


def test_one_hook_of_a_file_is_chosen_by_its_name(leadhand: Any, hooks: str) -> None:
    line = ("run", "--offline", "--tools", leadhand.tools, "--approve", "auto", "--json")
    run = leadhand(*line, "--hooks", f"{hooks}:no_rome", "Measure the noise in Rome").json
    assert run["hooks"] == ["guards:no_rome"]
    assert "not in Rome" in run["gaps"][0]["reason"]
    assert leadhand.calls == {}


def test_the_hooks_of_a_manifest_check_every_run_of_the_project(
    leadhand: Any, hooks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = leadhand.folder / "below"
    below.mkdir()
    tools = f'tools = ["{leadhand.tools}"]'
    (leadhand.folder / "leadhand.toml").write_text(f'{tools}\nhooks = ["guards.py:ask_above"]\n[approve]\n"*" = "auto"')
    monkeypatch.chdir(below)  # paths are relative to the manifest
    started = leadhand("run", "--offline", PAY)
    assert started.code == 4
    (asked,) = leadhand("approvals", "list", "--json").json
    assert leadhand("approvals", "approve", asked["approval_id"]).code == 0
    assert "--hooks" not in started.err, "the project has them"
    assert leadhand("runs", "resume", asked["run_id"]).code == 0
    assert leadhand.calls == {"paid Bob": 1}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("guards.py:nope", ("nope", "no_rome, ask_above")),
        ("own_tools.py", ("own_tools.py", "leadhand.hooks.Hook")),
        ("guards.py:AskAbove", ("AskAbove(…)",)),
    ],
)
def test_what_names_no_hook_is_refused(leadhand: Any, hooks: str, given: str, named: tuple[str, ...]) -> None:
    leadhand.own_tools()
    leadhand("run", "--offline", "--hooks", str(leadhand.folder / given), PAY).refused(*named)


POINTS = ("before_model", "after_model", "before_tool", "after_tool", "before_answer")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("body", ["return Block('no')", "raise ValueError('no')"])
def test_the_exit_code_is_that_of_a_failed_run_whichever_hook_decides_and_how(
    leadhand: Any, point: str, body: str
) -> None:
    path = leadhand.folder / "decides.py"
    path.write_text(f"from leadhand.hooks import *\n@{point}\ndef decides(seen):\n    {body}\n")
    line = ("run", "--offline", "--tools", leadhand.tools, "--approve", "auto", "--hooks", str(path))
    try:
        ended = leadhand(*line, "Measure the noise in Paris")
    finally:
        sys.modules.pop("decides", None)
    assert ended.code == 1
    assert ("leadhand runs retry" in ended.err) is point.endswith("_tool")


def test_a_hook_that_raises_an_error_while_it_is_made_is_named(leadhand: Any) -> None:
    path = leadhand.folder / "needs.py"
    path.write_text(
        "from leadhand.hooks import Hook\nclass Needs(Hook):\n    def __init__(self):\n"
        "        raise KeyError('TOKEN')\n    def before_tool(self, call):\n        return None\n"
    )
    try:
        refused = leadhand("run", "--offline", "--hooks", str(path), "Weather in Paris?")
    finally:
        sys.modules.pop("needs", None)
    refused.refused("Needs", "KeyError: 'TOKEN'", code="configuration")
