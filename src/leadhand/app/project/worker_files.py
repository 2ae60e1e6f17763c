"""Worker files: ``NAME.worker``, with YAML front matter and instructions as Markdown."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from leadhand.app.project.config_files import fault, line_in, read_text, validated
from leadhand.core.errors import ConfigurationError
from leadhand.core.value import Value, is_object, one_line
from leadhand.core.worker import TOOLSET, WORKER_NAME, CallSettings
from leadhand.core.worker import Worker as Recorded
from leadhand.engine.gate import schema_flaw
from leadhand.flows.seam.function import Worker

SUFFIX = ".worker"
FENCE = "---"
EXAMPLE = "Begin it with:\n---\nname: my_worker\ndescription: What it does.\n---\nIts instructions, as Markdown."


ModelName = Annotated[str, Field(min_length=1, max_length=200)]


class WorkerLimits(Value):
    """The limits of one step of a worker: model calls of one attempt and of all, tokens, US dollars."""

    max_turns: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    budget: float | None = Field(default=None, ge=0)


class FrontMatter(Value):
    """The front matter of a worker file."""

    name: str = Field(pattern=WORKER_NAME, examples=["fact_checker", "reader-2"])
    description: str = Field(default="", max_length=2_000)
    model: ModelName | tuple[ModelName, ...] | None = None
    settings: CallSettings = CallSettings()
    tools: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    limits: WorkerLimits = WorkerLimits()
    input: dict[str, Any] | None = None
    output: dict[str, Any] | None = None


IN_FILE = tuple(FrontMatter.model_fields)


def load_worker_file(path: Path | str) -> Worker:
    """Return the worker that a file defines. Raises ConfigurationError, with the line, for a malformed file."""
    path = Path(path)
    worker = parse_worker(read_text(path), path)
    if path.name != f"{worker.name}{SUFFIX}":
        how = f"Rename the file to {worker.name}{SUFFIX}, or change the name in it."
        raise ConfigurationError(f"{path} defines a worker of another name: {worker.name}", how)
    return worker


def parse_worker(text: str, path: Path | str) -> Worker:
    """Return the worker that the text of a file defines; its tools include toolsets (``toolset:web``).

    Raises as :func:`load_worker_file` does.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise fault(path, 1, "the front matter is missing", EXAMPLE)
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == FENCE), None)
    if end is None:
        raise fault(path, 1, "the front matter does not end", f"Close it with a line of {FENCE}.")
    instructions = "\n".join(lines[end + 1 :]).strip()
    if not instructions:
        raise fault(path, end + 1, "there are no instructions", f"Write them after the second {FENCE}, as Markdown.")
    front_matter = "\n".join(lines[1:end])
    line_of = partial(line_in, "\n".join(lines[:end]))
    front = validated(FrontMatter, _data(front_matter, path), path, line_of)
    for name in ("input", "output"):
        schema = getattr(front, name)
        if schema is not None and (flaw := schema_flaw(schema)):
            raise fault(path, line_of((name,)), f"{name} is not a usable JSON schema: {flaw}", "Correct the schema.")
    given = front.model_dump(exclude={"toolsets", "limits", "settings"})
    given["tools"] = (*front.tools, *(f"{TOOLSET}{each}" for each in front.toolsets))
    limits, settings = (each.model_dump(exclude_none=True) or None for each in (front.limits, front.settings))
    return Worker(**given, limits=limits, settings=settings, instructions=instructions)


def worker_text(worker: Worker | Recorded, about: str = "") -> str:
    """Return a worker as the text of its file, with ``about`` as comments at its beginning."""
    import yaml

    data: dict[str, Any] = {key: plain for key in IN_FILE if (plain := deepcopy(getattr(worker, key, None)))}
    data |= {"model": worker.models[0] if len(worker.models) == 1 else worker.models} if worker.models else {}
    front = yaml.safe_dump({key: data[key] for key in IN_FILE if key in data}, sort_keys=False, allow_unicode=True)
    comments = "".join(f"# {line}\n" for line in about.splitlines())
    return f"{FENCE}\n{comments}{front}{FENCE}\n{str(worker.instructions).strip()}\n"


def _data(text: str, path: Path | str) -> dict[str, Any]:
    """Return the values of the front matter. Raises ConfigurationError, with the line."""
    import yaml  # imported late: most processes read no worker file

    reader: Any = yaml  # its types are incomplete
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in reader.parse(text, Loader=yaml.SafeLoader)):
            raise fault(path, 1, "the front matter uses YAML aliases (*name)", "Write the values out.")
        node, data = reader.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark, position = getattr(error, "problem_mark", None), getattr(error, "position", 0)
        line = text.count("\n", 0, position) if mark is None else mark.line
        what = f"the front matter is not valid YAML: {one_line(getattr(error, 'problem', None) or error)}"
        raise fault(path, line + 2, what, "Correct this line.") from error
    if not is_object(data):
        raise fault(path, 2, "the front matter has no keys", EXAMPLE)
    _check_keys(node, path)
    return data


def _check_keys(node: Any, path: Path | str) -> None:
    """Raise ConfigurationError for a key of a YAML node that is given twice or is not a text, such as ``<<``."""
    lines: dict[str, int] = {}
    elements = node.value if node.id == "sequence" else ()
    pairs: list[tuple[Any, Any]] = node.value if node.id == "mapping" else [(None, each) for each in elements]
    for key, value in pairs:
        if key is not None:
            name, line = str(key.value), key.start_mark.line + 2  # the first line of the file is the fence
            if not key.tag.endswith(":str"):
                raise fault(path, line, f"the key {name!r} is not a text", "Write a text, if need be in quotes.")
            if name in lines:
                what = f"{name} is given twice, first in line {lines[name]}"
                raise fault(path, line, what, "Keep one of them.")
            lines[name] = line
        _check_keys(value, path)
