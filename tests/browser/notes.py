"""A flow of its own, without work orders: one writer keeps a todo list and writes a file, twice."""

from __future__ import annotations

import asyncio

from leadhand import ToolReturn, Worker, tool
from leadhand.core.tool import SetTodos, Todo, WriteArtifact
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import ScriptedModel, calls, says

PATH = "reports/noise.md"


WRITER = Worker("writer", "Write notes.", tools=("keep",))


@flow(name="notes")
async def noise_notes(run: FlowContext):
    """Write notes on the request."""
    return await run.ask(WRITER, key="Noise at night")


class Notebook:
    """The model and the tool of the flow. The second call of the tool waits for ``gate``."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.models = ScriptedModel([calls("keep", done=1), calls("keep", done=3), says("The notes are complete.")])

        @tool
        async def keep(done: int) -> ToolReturn:
            """Keep the todo list and the notes."""
            if done > 1:
                await self.gate.wait()
            texts = ("Read the meters", "Compare the towns", "Write the report")
            todos = tuple(
                Todo(
                    id=str(n),
                    content=text,
                    status="completed" if n < done else "in_progress" if n == done else "pending",
                    priority="high" if n == 1 else None,
                )
                for n, text in enumerate(texts)
            )
            notes = WriteArtifact(path=PATH, content="# Noise\n" * done)
            return ToolReturn(summary=f"{done} done", asks=(SetTodos(todos=todos), notes))

        self.tools = [keep]
