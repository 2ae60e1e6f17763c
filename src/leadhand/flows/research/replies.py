"""What code checks of the replies of a lead and its subagents, and what it keeps of them and of their calls."""

from __future__ import annotations

from collections.abc import Collection

from leadhand.core.artifact import MEMORY, confined
from leadhand.core.errors import UsageError
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import message_of
from leadhand.core.value import Json, compact_json, object_of, text_of
from leadhand.flows.flow import Given as Result
from leadhand.flows.passages import is_passage_id, passages_in, unfenced
from leadhand.verify.claims import citations_in, claims_of

from .workers import Found

LONGEST_FILE = 20_000
"""Characters of a file of an earlier run that are kept as what an answer cites."""


def subagent_problems(_state: RunState, _step: StepState, result: Result) -> list[str]:
    """Return what a subagent names that does not exist, unless it can be left out."""
    recorded = "passages" in object_of(result.value)  # it was checked before
    return [] if recorded else _read(result)[1][:8]


def with_passages(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the result of a subagent with the passages that it and its files name, as the tools returned them."""
    return _read(result)[0].model_dump(mode="json")


def with_files(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the files that the answer of a lead cites, as the lead read them; None without any."""
    cited, read = _cited(unfenced(result.text)), dict[str, str]()
    for call in result.calls:
        path = _path(text_of(call.args.get("path")))
        if call.tool == "filesystem_read" and call.ok and path in cited:
            read[path] = read.get(path, "") + written_out(message_of(call.raw))
    return {"files": [{"path": path, "text": text[:LONGEST_FILE]} for path, text in read.items()]} if read else None


def _read(result: Result) -> tuple[Found, list[str]]:
    """Return what a subagent found, and the problems of what it names."""
    given = object_of(result.value)
    returned = {passage.id: passage for call in result.calls for passage in passages_in(call)}
    wrote = (call.args for call in result.calls if call.tool == "filesystem_write" and call.ok)
    files = {_path(text_of(each.get("path"))): text_of(each.get("content")) for each in wrote}
    said = {field: given.get(field) for field in ("summary", "detail")}
    said |= {field: _supported(text, returned.keys()) for field, text in said.items() if isinstance(text, str)}
    named = {field: _cited(written_out(value)) for field, value in said.items()}
    problems = [
        f"{field} names the passage {name}, which no tool returned"
        for field, names in named.items()
        for name in names
        if name not in returned and not name.startswith(MEMORY)
    ]
    if (path := _path(text_of(given.get("artifact_path")))) and path not in files:
        if len(files) == 1:
            (path,) = files
        else:
            there = f"it wrote {', '.join(files)}" if files else "it wrote no file"
            problems.append(f"artifact_path names {path}, which this subagent did not write: {there}")
    cited = dict.fromkeys(name for names in (*named.values(), *map(_cited, files.values())) for name in names)
    passages = tuple(returned[name] for name in cited if name in returned)
    return Found.model_validate({**said, "artifact_path": path or None, "passages": passages}), problems


def _supported(text: str, known: Collection[str]) -> str:
    """Return a text without unknown passages, and without the claims that cite nothing else; as it is if no claim
    would be left that cites something, or if a citation may mean something else."""
    cited = _cited(text)
    kept = {name for name in cited if name in known or name.startswith(MEMORY)}
    if not kept or len(kept) == len(cited) or not all(map(is_passage_id, cited.keys() - kept)):
        return text
    for claim in reversed(claims_of(text)):
        if claim.cites and kept.isdisjoint(claim.cites):
            text = f"{text[: claim.start].rstrip(' ')}{text[claim.end :]}".strip()
    for citation in reversed([*citations_in(text)]):  # each claim cites one that is kept
        mark = ", ".join(name for name in citation.ids if name in kept)
        before = text[: citation.start] if mark else text[: citation.start].rstrip(" ")
        text = f"{before}{f'[{mark}]' if mark else ''}{text[citation.end :]}"
    return text


def _cited(text: str) -> dict[str, None]:
    """Return what a text cites, each once, in its order."""
    return dict.fromkeys(name for citation in citations_in(text) for name in citation.ids)


def written_out(value: Json) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else compact_json(value)


def memory_path(path: str) -> str:
    """Return the path of an artifact below ``memory/``. Raises UsageError, as :func:`confined` does."""
    whole = confined(path)
    return whole if whole.startswith(MEMORY) else confined(f"{MEMORY}{whole}")


def _path(given: str) -> str:
    try:
        return memory_path(given) if given else ""
    except UsageError:
        return given
