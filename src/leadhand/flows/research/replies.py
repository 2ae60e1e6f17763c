"""What code checks of the replies of a lead and its subagents, and what it keeps of them and of their calls."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from leadhand.core.artifact import MEMORY
from leadhand.core.errors import UsageError
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, object_of, text_of
from leadhand.flows.flow import Result
from leadhand.flows.passages import Passage, is_passage_id, message_of, passages_in, unfenced
from leadhand.verify.claims import citations_in, claims_of

from .shapes import Found, memory_path, written_out

LONGEST_FILE = 20_000
"""Characters of a file of an earlier run that are kept as what an answer cites."""


def subagent_problems(_state: RunState, _step: StepState, result: Result) -> list[str]:
    """Return what a subagent names that does not exist, unless it can be left out."""
    given = object_of(result.value)
    recorded = given.get("passages")
    known = {each["id"] for each in recorded} if recorded is not None else _returned(result).keys()
    value = _corrected(given, known)
    named = {field: _cited_ids(written_out(value.get(field))) for field in ("summary", "detail")}
    found = [
        f"{field} names the passage {name}, which no tool returned"
        for field, names in named.items()
        for name in names
        if name not in known
    ]
    if path := text_of(value.get("artifact_path")):
        written = _written(result)
        if _path(path) not in written and len(written) != 1:
            there = f"it wrote {', '.join(written)}" if written else "it wrote no file"
            found.append(f"artifact_path names {path}, which this subagent did not write: {there}")
    return found[:8]


def with_passages(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the result of a subagent with the passages that it and its files name, as the tools returned them."""
    returned = _returned(result)
    value = _corrected(object_of(result.value), returned.keys())
    said = (written_out(value.get(field)) for field in ("summary", "detail"))
    files = _written(result)
    named = _cited_ids("\n".join([*said, *files.values()]))
    path = text_of(value.get("artifact_path"))
    found = Found(
        summary=text_of(value.get("summary")),
        detail=value.get("detail"),
        artifact_path=(next(iter(files)) if len(files) == 1 else _path(path)) if path else None,
        passages=tuple(returned[name] for name in named if name in returned),
    )
    return found.model_dump(mode="json")


def with_files(_state: RunState, _step: StepState, result: Result) -> Json:
    """Return the files that the answer of a lead cites, as the lead read them; None without any."""
    cited = {name for citation in citations_in(unfenced(result.text)) for name in citation.ids}
    read: dict[str, str] = {}
    for call in result.calls:
        path = _path(text_of(call.args.get("path")))
        if call.tool == "filesystem_read" and call.ok and path in cited:
            read[path] = read.get(path, "") + written_out(message_of(call.raw))
    files = [{"path": path, "text": text[:LONGEST_FILE]} for path, text in read.items()]
    return {"files": files} if files else None


# --- citations -------------------------------------------------------------------------------------------------------


def _corrected(value: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the result of a subagent without what it says of passages that do not exist."""
    texts = {field: said for field in ("summary", "detail") if isinstance(said := value.get(field), str)}
    return {**value, **{field: _supported(said, known) for field, said in texts.items()}}


def _supported(text: str, known: Collection[str]) -> str:
    """Return a text without unknown passages, and without the claims that cite nothing else; as it is if no claim
    would be left that cites something, or if a citation may mean something else."""
    cited = {name for citation in citations_in(text) for name in citation.ids}
    kept = {name for name in cited if name in known or name.startswith(MEMORY)}
    if not kept or len(kept) == len(cited) or not all(map(is_passage_id, cited - kept)):
        return text
    for claim in reversed(claims_of(text)):
        if claim.cites and kept.isdisjoint(claim.cites):
            text = f"{text[: claim.start].rstrip(' ')}{text[claim.end :]}".strip()
    for citation in reversed([*citations_in(text)]):
        if not kept.issuperset(citation.ids):  # each claim cites another one that is kept
            mark = ", ".join(name for name in citation.ids if name in kept)
            before = text[: citation.start] if mark else text[: citation.start].rstrip(" ")
            text = f"{before}{f'[{mark}]' if mark else ''}{text[citation.end :]}"
    return text


def _cited_ids(text: str) -> list[str]:
    """Return the ids of passages that a text cites, each once, in their order."""
    names = (name for citation in citations_in(text) for name in citation.ids)
    return list(dict.fromkeys(name for name in names if not name.startswith(MEMORY)))


# --- calls -----------------------------------------------------------------------------------------------------------


def _returned(result: Result) -> dict[str, Passage]:
    return {passage.id: passage for call in result.calls for passage in passages_in(call)}


def _written(result: Result) -> dict[str, str]:
    """Return the files that a subagent wrote, by path."""
    wrote = (call.args for call in result.calls if call.tool == "filesystem_write" and call.ok)
    return {_path(text_of(each.get("path"))): text_of(each.get("content")) for each in wrote}


def _path(given: str) -> str:
    try:
        return memory_path(given)
    except UsageError:
        return given
