"""What a new run takes from earlier ones: the answer of the run that it follows, and files under ``memory/``."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator

from leadhand.core.run import EarlierFile, Follows
from leadhand.core.state import RunState
from leadhand.core.tool import Source
from leadhand.ports import ContextStore
from leadhand.ports.earlier_files import earlier_file, newest_files

LOGGER = logging.getLogger("leadhand")
MOST_FILES = 200
"""Files of earlier runs that a run may read, at most."""


def followed(earlier: RunState) -> Follows:
    """Return what a follow-up records of the run that it follows."""
    finished = earlier.finished
    return Follows(
        run_id=earlier.run_id,
        request=earlier.definition.request,
        answer=finished.answer if finished is not None else "",
        sources=tuple(Source(title=each.title, url=each.url) for each in finished.sources) if finished else (),
    )


async def files_to_read(
    store: ContextStore,
    flow: str,
    key_id: str,
    earlier: RunState | None,
    *,
    offline: bool,
    documents: str,
) -> tuple[EarlierFile, ...]:
    """Return the files that a new run may read: those of the run that it follows, then those of its flow and key.

    Of other runs than the one that it follows, it reads only what ``may_share`` of that port allows.
    Their content is kept until the run is created. What is no longer stored is left out, with a warning.
    """
    found = list(_files_of(earlier)) if earlier is not None else []
    found += await store.earlier_files(flow, key_id, MOST_FILES, offline=offline, documents=documents)
    files = newest_files(found, MOST_FILES)
    lost = await missing(store, files)
    return tuple(file for file in files if file not in lost)


def _files_of(run: RunState) -> Iterator[EarlierFile]:
    for path, versions in run.artifacts.items():
        latest = versions[-1]
        yield earlier_file(path, latest, run.run_id, latest.at)


async def missing(store: ContextStore, files: Collection[EarlierFile]) -> list[EarlierFile]:
    """Return the files whose content is no longer stored, and warn of them in one line; keep that of the others."""
    there = await store.keep_blobs(sorted({file.digest for file in files})) if files else ()
    lost = [file for file in files if file.digest not in there]
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        LOGGER.warning(
            "the run continues without %s of run %s%s: the content is no longer stored",
            lost[0].path,
            lost[0].run_id,
            more,
        )
    return lost
