"""The manifest of a project, ``leadhand.toml``: its models, tools, workers, flows, limits and approval policy."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from leadhand.app.arguments import OTHERS, Policies, model_names
from leadhand.app.project.config_files import MANIFEST, LineOf, fault, line_in, read_text, validated
from leadhand.app.project.worker_files import SUFFIX, load_worker_file
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.limits import Limits, seconds
from leadhand.core.run import WorkerCalls
from leadhand.core.tool import MOST_AT_ONCE
from leadhand.core.value import Value
from leadhand.core.work_result import Check
from leadhand.flows.seam.function import Worker
from leadhand.tools.limits import ToolSettings
from leadhand.tools.mcp import McpServer
from leadhand.tools.openapi import OpenApi, is_url
from leadhand.tools.source import ToolSource


class ModelSettings(Value):
    """The models of a project's runs, as ``provider:name``."""

    default: str | None = Field(default=None, min_length=1)
    lead: str | None = Field(default=None, min_length=1)
    worker: str | None = Field(default=None, min_length=1)
    review: str | None = Field(default=None, min_length=1)


class ConcurrencySettings(Value):
    """What goes on at once in all processes of a database together: steps of the project, calls of each model."""

    project: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE)
    models: dict[Annotated[str, Field(pattern=r"^offline$|:")], Annotated[int, Field(ge=1, le=MOST_AT_ONCE)]] = {}


class RetentionSettings(Value):
    """Which finished runs are kept: for this time after their end (``30d``), and at most so many."""

    keep_for: Annotated[float, BeforeValidator(seconds), Field(gt=0)] | None = Field(
        default=None, examples=["12h", "30d"]
    )
    keep_runs: int | None = Field(default=None, ge=1)


class ProjectManifest(Value):
    """Everything that a project sets. Paths are relative to the directory of the manifest.

    ``tools``, ``flows``, ``agents`` and ``hooks`` are Python files, modules or ``FILE:NAME``; ``installed:NAME`` is a
    tool that an installed package offers. ``toolsets`` are groups of built-in tools.
    ``worker_files`` are worker files or patterns such as ``workers/*.worker``. ``generated_workers_dir`` is where
    workers that are made during runs are written; without it, no run can make any.
    ``offline_rules`` are Python files whose ``OFFLINE`` says, by the name of
    a worker, what the built-in model does as that worker. ``stages`` are settings of the report flow's stages.
    ``limits`` are those of each run. ``approve`` is the policy for calls that need approval, or rules: a policy by what
    they match, ``"*"`` for all others. ``tool_settings`` are limits and caches of tools, by their names. ``check`` says
    who checks answers (a judge, the exact checks alone, or nobody); with ``strict``, doubts make a run partial. With
    ``worker_calls`` ``always``, a model writes the result of every subtask. ``mcp`` are MCP servers and ``openapi``
    APIs, by their names.
    """

    name: str = Field(default="", max_length=100)
    tools: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    worker_files: tuple[str, ...] = ()
    generated_workers_dir: str | None = Field(default=None, min_length=1)
    flows: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    documents: str | None = Field(default=None, min_length=1)
    only_documents: bool = False
    offline_rules: tuple[str, ...] = ()
    check: Check | None = None
    strict: bool = False
    worker_calls: WorkerCalls | None = None
    models: ModelSettings = ModelSettings()
    limits: Limits = Limits()
    concurrency: ConcurrencySettings = ConcurrencySettings()
    tool_settings: dict[str, ToolSettings] = {}
    approve: Policies | None = None
    retention: RetentionSettings = RetentionSettings()
    stages: dict[str, dict[str, Any]] = {}
    mcp: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], McpServer] = {}
    openapi: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], OpenApi] = {}


_FILES = {"tools": "tools", "flows": "flows", "agent": "agents", "hooks": "hooks"}
"""Flags that name Python files, and the keys of the manifest that do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A manifest, the file that it comes from, and the workers that its worker files declare, by relative path."""

    path: Path
    manifest: ProjectManifest
    workers: Mapping[str, Worker] = field(default_factory=dict[str, Worker])
    text: str = field(default="", compare=False, repr=False)

    def where(self, *keys: str) -> str:
        """Return the file and the line of a key, or of a key in a table, for a message."""
        return f"{self.path}:{line_in(self.text, keys)}" if self.text else str(self.path)

    def fault(self, what: str, how: str, *keys: str) -> ConfigurationError:
        """Return an error at the line of a key."""
        return ConfigurationError(f"{self.where(*keys)}: {what}", how)

    @property
    def directory(self) -> Path:
        return self.path.parent

    @property
    def generated_workers(self) -> Path | None:
        """The directory for workers that are made during runs; None without one."""
        named = self.manifest.generated_workers_dir
        return None if named is None else self.directory / named

    def flags(self) -> dict[str, Any]:
        """Return what the manifest sets by the names of flags; paths are absolute. Flags of several values are
        tuples."""
        manifest, models, approve = self.manifest, self.manifest.models, self.manifest.approve
        rules = approve if isinstance(approve, Mapping) else {OTHERS: approve}
        stages = ((stage, field, value) for stage, fields in manifest.stages.items() for field, value in fields.items())
        found: dict[str, Any] = {
            "model": models.default,
            **{f"{use}_model": getattr(models, use) for use in ("lead", "worker", "review")},
            **{name: each or None for name, each in self.settings().items() if name != "project"},
            "check": manifest.check,
            **{flag: tuple(map(self.located, getattr(manifest, key))) for flag, key in _FILES.items()},
            "approve": tuple(f"{rule}={policy}" for rule, policy in rules.items() if policy is not None),
            "stage": tuple(
                f"{stage}.{field}={json.dumps(value, ensure_ascii=False)}" for stage, field, value in stages
            ),
        }
        return {name: value for name, value in found.items() if value not in (None, ())}

    def settings(self) -> dict[str, Any]:
        """Return what the manifest sets of the settings of a process, and no argument of ``Leadhand``."""
        manifest = self.manifest
        return {
            "project": self,
            "documents": None if manifest.documents is None else str(self.directory / manifest.documents),
            "only_documents": manifest.only_documents,
            "strict": manifest.strict,
            "worker_calls": manifest.worker_calls,
        }

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the manifest sets as arguments of ``Leadhand``, with the models and limits that are ``given``.

        Raises UsageError and ConfigurationError for files that do not hold what the manifest says.
        """
        from leadhand.app.project import source_files as files

        manifest = self.manifest
        read = {
            "tools": files.all_tools,
            "flows": files.all_flows,
            "agents": files.all_agents,
            "hooks": files.all_hooks,
        }
        parts = {
            ("workers" if key == "agents" else key): all_of(map(self.located, getattr(manifest, key)))
            for key, all_of in read.items()
        }
        models = {use: name for use, name in dict(manifest.models).items() if name is not None}
        same = {"check": manifest.check, "approve": manifest.approve}
        own = {
            "model": models | model_names(given.get("model")),
            "limits": manifest.limits.patched(given.get("limits")),
        }
        return {**parts, **same, **given, **own}

    def sources(self) -> list[ToolSource]:
        """Return the sources of tools; a command is started, and a document is, in the directory of the manifest."""
        here = {"directory": str(self.directory)}
        servers, apis = self.manifest.mcp.items(), self.manifest.openapi.items()
        return [
            *(each.evolve(name=name, **(here if each.command else {})) for name, each in servers),
            *(each.evolve(name=name, document=self._document(each.document)) for name, each in apis),
        ]

    def _document(self, named: str) -> str:
        return named if is_url(named) else str(self.directory / named)

    def rules(self) -> dict[str, Any]:
        """Return the rules of the project for the built-in model, by the name of the worker."""
        from leadhand.app.project.source_files import all_rules

        return all_rules(map(self.located, self.manifest.offline_rules))

    def located(self, named: str) -> str:
        """Return a Python file of the manifest, or ``FILE:NAME``, with an absolute path; a module as it is."""
        return str(self.directory / named) if named.partition(":")[0].endswith(".py") or "/" in named else named


def load_project(path: Path) -> Project:
    """Return the project of a manifest, or of the directory that holds it, with its workers.

    Raises ConfigurationError, with file and line, for an unknown key, an invalid value, a missing file and two workers
    of one name; UsageError for a missing manifest.
    """
    path = path.expanduser().resolve()
    path = path / MANIFEST if path.is_dir() else path
    if not path.is_file():
        how = "Name an existing leadhand.toml, or write one: leadhand init"
        raise UsageError(f"no manifest {path}", how)
    text = read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"at line (\d+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        what = f"the manifest is not valid TOML: {str(error).partition(' (at ')[0]}"
        raise fault(path, line, what, "Correct this line.") from error
    line_of = partial(line_in, text)
    manifest = validated(ProjectManifest, data, path, line_of)
    project = Project(path=path, manifest=manifest, workers=_workers(path, manifest, line_of), text=text)
    _check_files(project)
    if manifest.concurrency.project is not None and not manifest.name:
        what = "the project has a limit, and no name by which other processes know that it is the same project"
        raise project.fault(what, 'Add name = "…" at the top.', "concurrency", "project")
    return project


def _workers(path: Path, manifest: ProjectManifest, line_of: LineOf) -> dict[str, Worker]:
    found: dict[str, Worker] = {}
    for named in manifest.worker_files:
        line, files = line_of(("worker_files",)), named_files(path.parent, named)
        if not files:
            raise fault(path, line, f"no file matches {named}", "Correct the pattern, or remove it.")
        for file in files:
            source = relative_path(file, path.parent)
            if file.suffix != SUFFIX or not file.is_file():
                raise fault(path, line, f"there is no worker file {source}", f"Name files that end in {SUFFIX}.")
            worker = load_worker_file(file)
            if other := [each for each, known in found.items() if known.name == worker.name and each != source]:
                what = f"two files define the worker {worker.name}: {other[0]} and {source}"
                raise fault(path, line, what, "Rename one of them.")
            found[source] = worker
    return found


def named_files(directory: Path, named: str) -> list[Path]:
    """Return the files that an entry of ``worker_files`` names: one, or those that fit a pattern."""
    is_pattern = any(letter in named for letter in "*?[") and not Path(named).is_absolute()
    return sorted(directory.glob(named)) if is_pattern else [directory / named]


def relative_path(file: Path, directory: Path) -> str:
    """Return the path of a file relative to a directory, if it is below it."""
    return str(file.relative_to(directory)) if file.is_relative_to(directory) else str(file)


def _check_files(project: Project) -> None:
    manifest, generated = project.manifest, project.generated_workers
    for key in ("tools", "flows", "agents", "hooks", "offline_rules"):
        for named in getattr(manifest, key):
            file = Path(project.located(named.partition(":")[0]))
            if file.is_absolute() and not file.is_file():
                raise project.fault(f"there is no file {named}", "Correct the path, or remove it.", key)
    if manifest.documents is not None and not (project.directory / manifest.documents).is_dir():
        what = f"there is no directory {manifest.documents}"
        raise project.fault(what, "Create it, or correct the path.", "documents")
    if generated is not None and project.directory not in generated.resolve().parents:
        what = f"generated_workers_dir leaves the project: {manifest.generated_workers_dir}"
        how = "Name a directory below that of the manifest, such as generated."
        raise project.fault(what, how, "generated_workers_dir")
    for source, worker in project.workers.items():
        if generated is not None and generated.resolve() in (project.directory / source).resolve().parents:
            how = f"Promote it first: leadhand workers promote {worker.name}"
            raise ConfigurationError(f"{source} is a generated worker, and worker_files names it", how)
