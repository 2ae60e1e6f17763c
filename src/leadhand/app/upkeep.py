"""Upkeep of a store: delete runs together with their files, and back the store up."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

from leadhand.app.runtime import Runtime
from leadhand.core.errors import StoreError
from leadhand.ports import in_database


async def delete_runs(runtime: Runtime, run_ids: Sequence[str], *, ended_only: bool = False) -> list[str]:
    """Delete runs, their artifacts and the files in their directories; return the ids of those deleted.

    Raises NoSuchRun, RunOwned for a run that a living process drives, and StoreError. With ``ended_only``, runs that
    are gone or have not ended are left out instead.
    """
    deleted = await in_database(runtime.store).delete_runs(run_ids, ended_only=ended_only)
    for run_id in deleted:
        await asyncio.to_thread(_delete_directory, runtime.settings.home / "runs" / run_id)
    return deleted


def _delete_directory(directory: Path) -> None:
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(
            f"the run is deleted, but not its directory {directory}: {error.strerror or error}", "delete it by hand"
        ) from error
