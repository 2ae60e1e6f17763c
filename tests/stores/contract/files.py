"""The files that earlier runs wrote, as a store finds them for a new run."""

from __future__ import annotations

from leadhand.core.artifact import FileVersion, digest_of
from leadhand.core.events import ArtifactWritten
from leadhand.ports import ContextStore

from .samples import ATTEMPT, Contract, started


async def write_file(store: ContextStore, run_id: str, path: str, content: str) -> None:
    """Record that a run wrote a file."""
    digest, size = digest_of(content.encode()), len(content)
    written = ArtifactWritten(attempt=ATTEMPT, path=path, digest=digest, size=size)
    await store.append(run_id, [written])


class FileIndexContract(Contract):
    """The contract of a :class:`~leadhand.ports.ContextStore`. Provide ``store``, on an empty database."""

    async def test_the_newest_version_of_each_file_is_found(self, store: ContextStore) -> None:
        assert await store.earlier_files("research", "", 9, offline=False, documents="") == []
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started(flow="research"))
        await write_file(store, "run-1", "memory/a.md", "first")
        await write_file(store, "run-2", "memory/a.md", "second")
        await write_file(store, "run-2", "memory/b.md", "b")
        await write_file(store, "run-1", "memory/a.md", "third")
        await write_file(store, "run-1", "drafts/a.md", "not for other runs")

        found = await store.earlier_files("research", "", 9, offline=False, documents="")

        assert [(file.run_id, file.path) for file in found] == [("run-1", "memory/a.md"), ("run-2", "memory/b.md")]
        entry = (await store.read("run-1"))[-2]
        assert found[0] == FileVersion(
            path="memory/a.md",
            digest=digest_of(b"third"),
            size=5,
            run_id="run-1",
            at=entry.at,
        )
        assert await store.earlier_files("research", "", 1, offline=False, documents="") == found[:1]

    async def test_files_of_other_flows_and_keys_are_not_found(self, store: ContextStore) -> None:
        owners = {"run-1": ("research", "key-1"), "run-2": ("research", "key-2"), "run-3": ("report", "key-1")}
        for run_id, (flow, key_id) in owners.items():
            await store.create(run_id, started(flow=flow, key_id=key_id))
            await write_file(store, run_id, f"memory/{run_id}.md", run_id)
        for run_id, owner in owners.items():
            found = await store.earlier_files(*owner, 9, offline=False, documents="")
            assert [file.path for file in found] == [f"memory/{run_id}.md"]
        assert await store.earlier_files("research", "", 9, offline=False, documents="") == []

    async def test_files_stay_offline_and_with_the_documents_that_they_rest_on(self, store: ContextStore) -> None:
        places = {"run-1": (False, ""), "run-2": (True, ""), "run-3": (False, "/a"), "run-4": (True, "/b")}
        for run_id, (offline, documents) in places.items():
            await store.create(run_id, started(flow="research", offline=offline, documents=documents))
            await write_file(store, run_id, "memory/same.md", run_id)
            await write_file(store, run_id, f"memory/{run_id}.md", run_id)

        async def found(offline: bool, documents: str) -> dict[str, str]:
            files = await store.earlier_files("research", "", 9, offline=offline, documents=documents)
            return {file.path: file.run_id for file in files}

        own = {f"memory/{run_id}.md": run_id for run_id in places}
        assert await found(False, "") == {"memory/same.md": "run-1", "memory/run-1.md": own["memory/run-1.md"]}
        assert set(await found(False, "/a")) == {"memory/same.md", "memory/run-1.md", "memory/run-3.md"}
        assert (await found(False, "/a"))["memory/same.md"] == "run-3", "the newest that it may read"
        assert set(await found(False, "/b")) == {"memory/same.md", "memory/run-1.md"}
        assert (await found(True, ""))["memory/same.md"] == "run-2"
        assert set(await found(True, "/b")) == {"memory/same.md", "memory/run-2.md", "memory/run-4.md"}
