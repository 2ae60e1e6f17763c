"""The documentation is whole and true: links lead somewhere, names exist, tables agree with the code."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from documents import PAGES, ROOT, anchors, blocks, links, named, rows
from processes import run

import leadhand
from leadhand.cli.catalogue import COMMANDS
from leadhand.cli.dispatch import Exit
from leadhand.cli.parser import LEAVES, Leaf, Option
from leadhand.core import errors
from leadhand.core.decide.attempts import FIRST_DELAY_S, LONGEST_DELAY_S, MAX_LOSSES, retry_after_s
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import EVENT_TYPES
from leadhand.core.limits import Limits
from leadhand.flows.work_order.reviewing import SHARD
from leadhand.models.providers import PROVIDERS
from leadhand.server.app import routed
from leadhand.tools.services import SERVICES, setting

DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "leadhand"
FAILURES = DOCS / "explanation" / "failures.md"
EXPLAINED = [DOCS / "explanation" / "how-it-works.md", FAILURES]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def generator() -> ModuleType:
    """``scripts/reference`` as a module."""
    loader = SourceFileLoader("reference_script", str(ROOT / "scripts" / "reference"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


# --- whole -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith(("http://", "https://")):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    todo = [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if "://" not in link]
    assert [named(page) for page in PAGES if page not in reached] == []


def test_the_site_has_every_page() -> None:
    """The navigation names all of them, and none of their links leaves the site; scripts/site checks the rest."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    pages = sorted(DOCS.rglob("*.md"))
    assert sorted(leaves(site["nav"])) == sorted(page.relative_to(DOCS).as_posix() for page in pages)
    for page in pages:
        local = [link.partition("#")[0] for link in links(page) if "://" not in link]
        assert [link for link in local if not (page.parent / link).resolve().is_relative_to(DOCS)] == [], page.name


def leaves(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | dict():
            for each in value.values() if isinstance(value, dict) else value:
                yield from leaves(each)
        case _:
            raise AssertionError(value)


def test_the_generated_pages_are_up_to_date() -> None:
    stale = [path.name for path, text in generator().pages() if text_of(path) != text]
    assert stale == [], "run scripts/reference"


def test_the_changelog_begins_with_this_release() -> None:
    releases = re.findall(r"^## \[(.+?)\]", text_of(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert releases[0] == leadhand.__version__


# --- names -----------------------------------------------------------------------------------------------------------


def test_every_public_name_is_documented() -> None:
    page = text_of(DOCS / "reference" / "python.md")
    assert [name for name in leadhand.__all__ if f"`{name}`" not in page and f"`leadhand.{name}`" not in page] == []


def test_every_argument_of_leadhand_is_documented() -> None:
    page = text_of(DOCS / "reference" / "python.md")
    names = leadhand.Leadhand.__init__.__annotations__.keys() - {"return"}
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize("shown", [leadhand.Leadhand, leadhand.Run, leadhand.Answer])
def test_every_method_of_the_door_is_documented(shown: type) -> None:
    page = text_of(DOCS / "reference" / "python.md")
    names = [name for name in vars(shown) if not name.startswith("_")]
    assert [name for name in names if not re.search(rf"`{name}[`(]", page)] == []


def test_every_word_of_the_glossary_is_explained_once() -> None:
    explained = rows(DOCS / "glossary.md", "word")
    assert len({word for word, _ in explained}) == len(explained) > 20
    assert [word for word, meaning in explained if not meaning.endswith(".")] == []


@pytest.mark.parametrize("page", EXPLAINED, ids=named)
def test_files_and_functions_that_explanations_name_exist(page: Path) -> None:
    text = text_of(page)
    for file in re.findall(r"`((?:src/leadhand/)?\w+(?:/\w+)*\.py)`", text):
        assert (SOURCE / file.removeprefix("src/leadhand/")).exists(), file
    pairs = re.findall(r"`([A-Za-z_][\w.]*)`(?: and `([\w.]+)`)?\s+in\s+`((?:src/leadhand/)?[\w/]+\.py)`", text)
    assert pairs
    for first, second, file in pairs:
        module = importlib.import_module("leadhand." + file.removeprefix("src/leadhand/")[:-3].replace("/", "."))
        for name in filter(None, (first, second)):
            found: Any = module
            for part in name.split("."):
                assert hasattr(found, part), f"{file} has no {name}"
                found = getattr(found, part)


# --- the command line ------------------------------------------------------------------------------------------------


def test_every_command_has_its_section() -> None:
    headings = re.findall(r"^## (leadhand .+)$", text_of(DOCS / "reference" / "cli.md"), re.MULTILINE)
    assert sorted(headings) == sorted(f"leadhand {words}" for words in COMMANDS)


def parameters_of(command: Leaf) -> list[Option]:
    """The flags of a command."""
    context = command.make_context("", [], resilient_parsing=True)
    return [each for each in context.command.params if isinstance(each, Option)]


def test_every_flag_is_in_the_reference() -> None:
    """A flag is in the section of its command, or in a table of shared flags that the section names."""
    page = text_of(DOCS / "reference" / "cli.md")
    shared, *rest = re.split(r"^## leadhand\b ?(.*)\n", page, flags=re.MULTILINE)
    sections = dict(zip(*[iter(rest)] * 2, strict=True))
    tables = dict(zip(*[iter(re.split(r"^### (.*)\n", shared, flags=re.MULTILINE)[1:])] * 2, strict=True))
    for words, command in LEAVES.items():
        own, _, others = sections[words].partition("Shared flags: ")
        listed = ["--debug", *re.split(r",\s+", others.partition("\n```")[0])]
        known = own + "".join(tables[each.removeprefix("all of ")] for each in listed if each.startswith("all of "))
        flags = [each.opts[0] for each in parameters_of(command)]
        assert [flag for flag in flags if not re.search(rf"[ `]{flag}[ `\n]", known) and flag not in listed] == [], (
            words
        )


def test_every_shared_flag_has_its_words() -> None:
    page = text_of(DOCS / "reference" / "cli.md")
    listed = {
        flag
        for line in re.findall(r"^Shared flags: ([^`]*)", page, re.MULTILINE)
        for flag in re.findall(r"--[\w-]+", line)
    }
    assert sorted(listed - {row[0].strip("`").split()[0] for row in rows(DOCS / "reference" / "cli.md", "flag")}) == []


def test_every_event_and_every_route_is_in_the_reference() -> None:
    events_page, http_page = (text_of(DOCS / "reference" / name) for name in ("events.md", "http-api.md"))
    assert [name for name in EVENT_TYPES if f"### `{name}`\n" not in events_page] == []
    routes = [f"{method.upper()} {path}" for path, found in routed().openapi()["paths"].items() for method in found]
    assert [route for route in routes if f"| `{route}` |" not in http_page] == []


def test_the_exit_codes_are_those_of_the_code() -> None:
    codes = {int(code) for code, _ in rows(DOCS / "reference" / "cli.md", "code")}
    assert codes == {int(code) for code in Exit}


# --- failures --------------------------------------------------------------------------------------------------------


def test_every_failure_class_has_its_row() -> None:
    assert [row[0].strip("`") for row in rows(FAILURES, "class")] == [member.value for member in FailureClass]


@pytest.mark.parametrize("row", rows(FAILURES, "class"), ids=lambda row: row[0].strip("`"))
def test_what_the_table_says_of_retries_is_what_the_code_does(row: list[str]) -> None:
    class_, does = row[0].strip("`"), row[2]
    failure = Failure.model_validate({"message": "it failed", "type": "unproven", "class": class_})
    again = retry_after_s(failure, 0, "run/wo-001.0/a2", Limits(), None)
    says_not = bool(re.search(r"\b(Never|Does not (try|start))\b", does)) or class_ == "insufficient"
    assert (again is None) == says_not, does


def test_the_numbers_of_the_failures_page_are_those_of_the_code() -> None:
    page, limits = text_of(FAILURES), Limits()
    for said in (
        f"at most {MAX_LOSSES} times",
        f"waits {FIRST_DELAY_S:g} s",
        f"at most {LONGEST_DELAY_S:g} s",
        f"`max_retries` times ({limits.max_retries})",
        f"`max_repairs` times ({limits.max_repairs})",
        f"`max_steps` work orders ({limits.max_steps})",
        f"`max_turns` model calls ({limits.max_turns})",
        f"for the run ({limits.timeout:,.0f} s)",
        f"for each attempt ({limits.attempt_timeout:g} s)",
    ):
        assert said in " ".join(page.split()), said
    assert f"at most {SHARD} subtasks" in text_of(DOCS / "explanation" / "how-it-works.md")


def test_the_exceptions_of_the_failures_page_have_their_exit_codes() -> None:
    for name, _, code in rows(FAILURES, "exception"):
        assert getattr(errors, name.strip("`")).exit_code == int(code)


# --- settings --------------------------------------------------------------------------------------------------------


def test_every_environment_variable_is_in_the_settings() -> None:
    page = text_of(DOCS / "reference" / "settings.md")
    named_in_code = {
        variable
        for file in SOURCE.rglob("*.py")
        for variable in re.findall(r"\bLEADHAND_[A-Z][A-Z_]+\b", file.read_text(encoding="utf-8"))
        if not variable.endswith("_")
    }
    named_in_code |= {setting(name) for name in SERVICES}
    named_in_code |= {variable for provider in PROVIDERS.values() for variable in provider.key_variables}
    named_in_code |= {variable for provider in PROVIDERS.values() for variable in provider.url_variables}
    assert sorted(variable for variable in named_in_code if f"`{variable}`" not in page) == []


def test_the_addresses_of_the_services_are_those_of_the_code() -> None:
    page = text_of(DOCS / "reference" / "settings.md")
    for name, service in SERVICES.items():
        assert f"| `{setting(name)}` | `{service.url}` |" in page


def test_the_limits_are_those_of_the_code() -> None:
    page, limits = text_of(DOCS / "reference" / "settings.md"), Limits()
    for name in ("max_turns", "max_repairs", "max_retries"):
        assert f"| `{name}` | {getattr(limits, name):,.0f} |" in page, name
    for flag, name in (
        ("--max-steps", "max_steps"),
        ("--max-workers", "max_workers"),
        ("--timeout", "timeout"),
        ("--attempt-timeout", "attempt_timeout"),
        ("--model-patience", "model_patience"),
        ("--max-output-tokens", "max_output_tokens"),
    ):
        assert re.search(rf"\| `{flag}` \| `Limits\({name}=…\)` \| {getattr(limits, name):.0f} \|", page), flag


def test_every_provider_is_in_the_guide_with_its_key_and_address() -> None:
    told = {row[0].strip("`:"): row for row in rows(DOCS / "how-to" / "use-a-real-model.md", "name")}
    for name, provider in PROVIDERS.items():
        assert f"`{provider.base_url}`" == told[name][2]
        assert all(variable in told[name][1] for variable in provider.key_variables)


# --- the run document ------------------------------------------------------------------------------------------------


def paths(value: Any, at: str = "") -> set[str]:
    """Where something stands in a document: keys joined by dots, indexes as N, lists merged."""
    match value:
        case dict():
            return {at}.union(*(paths(each, f"{at}.{'N' if key.isdigit() else key}") for key, each in value.items()))
        case list():
            return {at}.union(*(paths(each, at) for each in value))
        case _:
            return {at}


def fixed(document: Any) -> set[str]:
    """The paths of a run document that do not depend on what a tool takes and returns."""
    return {path for path in paths(document) if not re.search(r"\.(args|raw)\.|content\.(location|day)$", path)}


@pytest.mark.slow
def test_the_run_document_on_its_page_has_the_fields_of_a_real_one(tmp_path: Path) -> None:
    page = DOCS / "reference" / "run-document.md"
    shown, gaps = (json.loads(block.text) for block in blocks(page, "json"))
    for arguments, of in (((), shown), (("--closed",), None)):
        ran = run(
            [sys.executable, str(ROOT / "examples" / "paris.py"), "--json", *arguments],
            env={**_environment(), "LEADHAND_HOME": str(tmp_path)},
        )
        real = json.loads(ran.stdout)
        if of is not None:
            assert fixed(of) == fixed(real)
            assert [field for field in real if f"`{field}`" not in text_of(page)] == []
        else:
            assert gaps == real["gaps"]


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("LEADHAND_")}


# --- decisions -------------------------------------------------------------------------------------------------------


def test_every_decision_is_in_the_index_and_says_what_it_costs() -> None:
    folder = DOCS / "explanation" / "decisions"
    index = text_of(folder / "README.md")
    for page in sorted(folder.glob("0*.md")):
        assert f"({page.name})" in index
        headings = re.findall(r"^## (.+)$", text_of(page), re.MULTILINE)
        assert {"Context", "Decision", "Consequences"} <= set(headings), page.name


# --- troubleshooting -------------------------------------------------------------------------------------------------


def messages() -> list[str]:
    """The headings of the page that quote a message; the others begin with a capital letter or are about HTTP."""
    headings = re.findall(r"^### (.+)$", text_of(DOCS / "how-to" / "troubleshooting.md"), re.MULTILINE)
    return [each for each in headings if each[0].islower() or each.startswith(("…", "You have not called"))]


@pytest.mark.parametrize("message", messages())
def test_a_message_of_the_troubleshooting_page_is_in_the_code(message: str, source_text: str) -> None:
    for part in (each.strip() for each in message.split("…")):
        assert part in source_text, part


@pytest.fixture(scope="module")
def source_text() -> str:
    """The code, with the pieces of each text joined as Python joins them."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))
    return re.sub(r"\"\s*\n\s*f?\"", "", "\n".join(texts))
