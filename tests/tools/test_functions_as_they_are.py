"""Functions, methods and objects that can be called are tools where they are named, without a decorator."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, tool
from leadhand.app.project.source_files import all_tools
from leadhand.app.project.toolsets import shipped_tools
from leadhand.core.errors import UsageError
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask
from leadhand.tools.toolbox import Toolbox


class Shop:
    """A shop in a town."""

    town = "Lyon"

    def __init__(self, price: int) -> None:
        self.price = price

    def quote(self, item: str) -> str:
        """Quote an item."""
        return f"{item}: {self.price}"

    async def __call__(self, item: str) -> str:
        return f"{item} in {self.town}: {self.price}"

    @classmethod
    async def where(cls) -> str:
        """Name the town."""
        return cls.town


class Kiosk(Shop):
    town = "Nice"


def add(left: int, right: int, unit: str = "EUR") -> str:
    """Add two prices.

    Args:
        left: the first
        unit: what they are in
    """
    return f"{left + right} {unit}"


PLACE = __name__


@pytest.mark.parametrize(
    ("given", "name", "args", "says", "path", "about"),
    [
        (add, "add", {"left": 1, "right": 2}, "3 EUR", "add", "Add two prices."),
        (Shop(3).quote, "quote", {"item": "tea"}, "tea: 3", "Shop.quote", "Quote an item."),
        (Kiosk(4).quote, "quote", {"item": "tea"}, "tea: 4", "Kiosk.quote", "Quote an item."),
        (Kiosk.where, "where", {}, "Nice", "Kiosk.where", "Name the town."),
        (tool(name="ask")(Kiosk(5)), "ask", {"item": "tea"}, "tea in Nice: 5", "Kiosk.__call__", "A shop in a town."),
        (
            tool(name="more", effect="idempotent")(functools.partial(add, 1, unit="USD")),
            "more",
            {"right": 2},
            "3 USD",
            "add",
            "Add two prices.",
        ),
    ],
)
async def test_what_can_be_called_is_a_tool(
    given: Any, name: str, args: dict[str, Any], says: str, path: str, about: str, tmp_path: Path
) -> None:
    model = ScriptedModel(plan=plans(subtask("one", name, **args)), lenient=True)
    async with Leadhand(tools=[given], models=model, home=tmp_path, check="off") as lead:
        answer = await lead.run("do it")
    assert answer.text == says
    spec = Toolbox([given]).get(name).spec
    assert (spec.import_path, spec.description) == (f"{PLACE}:{path}", about)
    assert set(spec.parameters["properties"]) >= set(args)
    assert "unit" not in spec.parameters["properties"] or name == "add"


def test_an_object_is_the_same_tool_in_another_process() -> None:
    first, second = (tool(name="ask")(Shop(price)).spec for price in (1, 2))
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(
    ("given", "how"),
    [
        ([Shop(1).quote, Shop(2).quote], 'tool(name="…")(thing.method)'),
        ([Shop(1)], 'tool(name="…")'),
        ([functools.partial(add, 1)], 'tool(name="…")'),
    ],
)
def test_a_name_that_is_taken_or_missing_is_given(given: list[Any], how: str) -> None:
    with pytest.raises(UsageError) as refused:
        Leadhand(tools=given)
    assert how in refused.value.how
    box = Toolbox([tool(name=f"own_{number}")(each) for number, each in enumerate(given)])
    assert len(box.specs()) == len(given)


FILE = '''
"""Prices."""
from functools import partial
from json import dumps

class Shop:
    def __init__(self, price):
        self.price = price

    def quote(self, item: str) -> str:
        """Quote an item."""
        return f"{item}: {self.price}"

    def __call__(self) -> int:
        return self.price

def total(left: int, right: int) -> int:
    """Add two prices."""
    return _add(left, right)

async def known() -> str:
    return "tea"

def _add(left, right):
    return left + right

corner = Shop(3)
DECORATED
'''
DECORATED = '''
from leadhand import tool

@tool(effect="once")
def buy(item: str) -> str:
    """Buy an item."""
    return item
'''


@pytest.mark.parametrize(
    ("more", "named", "found"),
    [
        ("", "", {"total": "total", "known": "known"}),
        (DECORATED, "", {"buy": "buy"}),
        (DECORATED, ":total", {"total": "total"}),
        ("", ":corner.quote", {"quote": "Shop.quote"}),
        ("", ":corner", {"corner": "Shop.__call__"}),
        ("", ":_add", {"_add": "_add"}),
    ],
)
def test_a_file_has_its_decorated_tools_else_its_public_functions_and_what_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, named: str, found: dict[str, str]
) -> None:
    monkeypatch.delitem(sys.modules, "prices_of_file", raising=False)
    file = tmp_path / "prices_of_file.py"
    file.write_text(FILE.replace("DECORATED", more))
    given = f"{file}{named}"
    specs = [each.spec for each in all_tools([given, given]) if each.name not in {x.name for x in shipped_tools()}]
    assert {each.name: each.import_path for each in specs} == {name: f"{file}:{path}" for name, path in found.items()}


def test_what_a_file_does_not_have_is_refused_with_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "prices_of_file", raising=False)
    file = tmp_path / "prices_of_file.py"
    file.write_text(FILE.replace("DECORATED", ""))
    for named in (":totl", ":corner.price", ":Shop"):
        with pytest.raises(UsageError) as refused:
            all_tools([f"{file}{named}"])
        assert "total" in refused.value.how or "Shop" in refused.value.what
