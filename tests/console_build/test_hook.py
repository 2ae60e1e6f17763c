"""The hook that builds the console: when it builds, when it does not, and what happens when it cannot.

Hatchling and Deno are fakes: a class of a few lines, and a program that writes files into a folder.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
INTERFACE = "hatchling.builders.hooks.plugin.interface"
BUNDLES = """#!/bin/sh
for argument; do case $argument in --outdir=*) out=${argument#--outdir=} ;; esac; done
mkdir -p "$out" && echo "bundled $*" > "$out/main.js" && echo style > "$out/style.css"
echo "$PWD $*" >> "$CALLS"
"""
FAILS = """#!/bin/sh
echo "no connection to the registry" >&2
exit 1
"""

Hook = Any
"""A hook is loaded at run time and has no static type."""


class FakeInterface:
    """The parts of hatchling that the hook uses: the folder of the project, and an application that shows warnings."""

    target_name = "wheel"

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.warnings: list[str] = []
        self.app = SimpleNamespace(display_warning=self.warnings.append)


@pytest.fixture
def hook_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``hatch_build.py``, loaded as hatchling loads it."""
    interface = ModuleType(INTERFACE)
    interface.BuildHookInterface = FakeInterface  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, INTERFACE, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with a console of a few files."""
    root = tmp_path / "project"
    sources = root / "console" / "src"
    sources.mkdir(parents=True)
    (root / "hatch_build.py").write_text("# the hook")
    for name in ("index.html", "icon.svg", "deno.json", "deno.lock"):
        (root / "console" / name).write_text(name)
    (sources / "main.tsx").write_text("render()")
    (sources / "main_test.ts").write_text("test()")
    return root


@pytest.fixture
def deno(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], Path]:
    """Put a program called ``deno`` on PATH, or remove it; return the file in which the program records its calls."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    calls.touch()
    monkeypatch.setenv("CALLS", str(calls))
    monkeypatch.delenv("LEADHAND_CONSOLE", raising=False)

    def put(program: str | None) -> Path:
        if program is None:
            monkeypatch.setenv("PATH", str(folder))
        else:
            (folder / "deno").write_text(program)
            (folder / "deno").chmod(0o755)
            monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.defpath}")
        return calls

    return put


def build(hook_module: ModuleType, project: Path, version: str = "standard") -> list[str]:
    """Build once; return the warnings."""
    hook: Hook = hook_module.ConsoleHook(project)
    hook.initialize(version, {})
    return hook.warnings


def built(project: Path) -> Path:
    return project / "src" / "leadhand" / "_console"


@pytest.mark.parametrize(("version", "target"), [("standard", "wheel"), ("editable", "wheel"), ("standard", "sdist")])
def test_a_wheel_carries_the_documentation(version: str, target: str, hook_module: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "how-to" / "serve.md"
    page.parent.mkdir(parents=True)
    page.touch()
    (tmp_path / "docs" / "picture.svg").touch()
    hook: Hook = hook_module.ConsoleHook(tmp_path)
    hook.target_name = target
    built: dict[str, Any] = {}
    hook.initialize(version, built)
    expected = {str(page): "leadhand/_docs/how-to/serve.md"}
    assert built == ({"force_include": expected} if (version, target) == ("standard", "wheel") else {})


def test_a_build_bundles_the_console_into_the_package(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    calls = deno(BUNDLES)
    assert build(hook_module, project) == []
    assert {file.name for file in built(project).iterdir()} == {
        "index.html",
        "icon.svg",
        "main.js",
        "style.css",
        ".stamp",
    }
    where, *arguments = calls.read_text().split()
    assert where == str(project / "console")
    assert arguments[0] == "bundle"
    assert {"--frozen", "--minify", "--platform=browser", "src/main.tsx", "src/style.css"} <= set(arguments)


def test_what_the_first_screen_imports_is_fetched_together_with_it(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    (project / "console" / "index.html").write_text("  <head>\n  </head>\n")
    split = """echo 'import{a}from"./chunk-AB12.js";import("./rare-CD34.js")' > "$out/main.js"\n"""
    deno(BUNDLES + split)
    build(hook_module, project)
    page = (built(project) / "index.html").read_text()
    assert re.findall(r'rel="(\w+)" href="(\S+)"', page) == [("modulepreload", "/chunk-AB12.js")]


def test_the_console_is_built_again_only_after_a_source_changed(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    calls = deno(BUNDLES)
    hook: Hook = hook_module.ConsoleHook(project)
    assert hook.dependencies() == [hook_module.DENO]
    build(hook_module, project)
    assert hook.dependencies() == []
    build(hook_module, project)
    assert len(calls.read_text().splitlines()) == 1

    (project / "console" / "src" / "main_test.ts").write_text("another test")
    assert hook.dependencies() == []

    (project / "console" / "src" / "main.tsx").write_text("render(another)")
    assert hook.dependencies() == [hook_module.DENO]
    build(hook_module, project)
    assert len(calls.read_text().splitlines()) == 2


@pytest.mark.parametrize("change", ["renamed", "lock", "removed"])
def test_every_kind_of_change_is_detected(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path], change: str
) -> None:
    deno(BUNDLES)
    build(hook_module, project)
    sources = project / "console" / "src"
    match change:
        case "renamed":
            (sources / "main.tsx").rename(sources / "app.tsx")
        case "lock":
            (project / "console" / "deno.lock").write_text("other versions")
        case _:
            (built(project) / ".stamp").unlink()
    assert hook_module.console_is_stale(project)


def test_a_distribution_fails_without_its_console_and_says_why(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    deno(FAILS)
    with pytest.raises(hook_module.ConsoleNotBuilt, match=r"(?s)no connection.*LEADHAND_CONSOLE=skip"):
        build(hook_module, project)
    assert not built(project).exists()


def test_an_editable_install_continues_without_a_console_and_warns(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    deno(FAILS)
    [warning] = build(hook_module, project, "editable")
    assert "absent" in warning
    assert "no connection" in warning
    assert not built(project).exists()


def test_a_failed_build_keeps_the_last_console(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    deno(BUNDLES)
    build(hook_module, project)
    before = (built(project) / "main.js").read_text()
    (project / "console" / "src" / "main.tsx").write_text("render(another)")
    deno(FAILS)
    [warning] = build(hook_module, project, "editable")
    assert "stays" in warning
    assert (built(project) / "main.js").read_text() == before
    assert hook_module.console_is_stale(project)


def test_a_machine_without_deno_gets_an_error_that_names_it(
    hook_module: ModuleType, project: Path, deno: Callable[[str | None], Path]
) -> None:
    deno(None)
    with pytest.raises(hook_module.ConsoleNotBuilt, match="deno"):
        build(hook_module, project)


def test_without_a_wheel_of_deno_the_deno_on_path_is_used(
    hook_module: ModuleType,
    project: Path,
    deno: Callable[[str | None], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deno(BUNDLES)
    monkeypatch.setattr(sysconfig, "get_config_var", {"SOABI": "cpython-311-x86_64-linux-musl"}.get)
    hook: Hook = hook_module.ConsoleHook(project)
    assert hook.dependencies() == []
    build(hook_module, project)
    assert (built(project) / "index.html").exists()


def test_skip_neither_builds_nor_requires_deno(
    hook_module: ModuleType,
    project: Path,
    deno: Callable[[str | None], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = deno(BUNDLES)
    monkeypatch.setenv("LEADHAND_CONSOLE", "skip")
    hook: Hook = hook_module.ConsoleHook(project)
    assert hook.dependencies() == []
    assert build(hook_module, project) == []
    assert calls.read_text() == ""


def test_an_sdist_without_sources_builds_nothing(
    hook_module: ModuleType, tmp_path: Path, deno: Callable[[str | None], Path]
) -> None:
    calls = deno(BUNDLES)
    hook: Hook = hook_module.ConsoleHook(tmp_path)
    assert hook.dependencies() == []
    assert build(hook_module, tmp_path) == []
    assert calls.read_text() == ""


@pytest.mark.skipif(not (ROOT / "console").is_dir(), reason="an sdist has no sources of the console")
def test_everything_that_the_page_loads_is_built(hook_module: ModuleType) -> None:
    page = (ROOT / "console" / "index.html").read_text()
    made = {Path(entry).with_suffix(".js" if entry.endswith("tsx") else ".css").name for entry in hook_module.ENTRIES}
    for name in {*made, *hook_module.COPIED} - {"index.html"}:
        assert f'"/{name}"' in page
