"""Play scenes with a judge, through the Python door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leads import leadhand_of
from memory_store import MemoryStore

from leadhand import Answer, Leadhand
from leadhand.app.runtime.clock import SystemClock
from leadhand.models.answers import decode_object
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of
from leadhand.testing.steps import step_of

from .judges import Judge, confirms
from .scenes import HONEST, AnyScene
from .transcripts import reply


@dataclass
class Played:
    """What came of a run: the requests to its model, how often the answer was written, and how often the writer was
    asked to correct it."""

    scene: AnyScene
    text: str
    value: Any
    judge: Judge = confirms
    writings: int = 0
    corrections: int = 0
    requests: list[ModelRequest] = field(default_factory=list)
    corrected: str = ""
    answer: Answer = None  # type: ignore[assignment]

    def reply(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        if request.worker == "judge":
            return self.judge(request)
        if request.worker == "confirm":
            return {"missing": []}
        if "problems" in brief_of(request):
            self.corrections += 1
            text = self.corrected or self.text
            if self.scene.start.get("flow") == "research":  # it is shown the answer as it would be delivered
                text = self.scene.delivered(text)
            return self.value if request.worker == "shape" else text
        said = self.scene.reply(request, self.text, self.value)
        self.writings += self.text in (step_of(said).text, (decode_object(step_of(said).text) or {}).get("answer"))
        return said

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests to the judge."""
        return [brief_of(each) for each in self.requests if each.worker == "judge"]

    @property
    def evidence(self) -> dict[str, Any]:
        return self.answer.document["evidence"]


async def play(
    scene: AnyScene,
    home: Path,
    judge: Judge = confirms,
    *,
    text: str = "",
    value: Any = None,
    corrected: str = "",
    scripted: type[ScriptedModel] = ScriptedModel,
    on_text: Callable[[str, str, str], None] | None = None,
    after: Callable[[Leadhand, Played], Awaitable[None]] | None = None,
    **settings: Any,
) -> Played:
    """Carry a scene out, after the one that it follows. ``corrected`` is what the writer makes of contradictions."""
    shape = getattr(scene, "shape", 0)
    played = Played(scene, text or scene.text, value or (reply(shape) if shape else None), judge, corrected=corrected)
    before = HONEST[scene.follows] if scene.follows else None
    earlier = Played(before, before.text, None) if before is not None else None

    def answered(request: ModelRequest) -> Any:
        return (played if earlier is None or earlier.answer is not None else earlier).reply(request)

    given = {"approve": "ask" if getattr(scene, "sent", None) else "auto", "check": "judge", **settings}
    store = MemoryStore(SystemClock())
    own = scene.settings(home)
    async with leadhand_of(models=scripted(answered), store=store, home=home / "home", **own, **given) as lead:
        (await lead.runtime()).texts.on_text = on_text
        if before is not None and earlier is not None:
            earlier.answer = await lead.run(before.request)
            run = await lead.follow_up(earlier.answer.run_id, scene.request)
        else:
            run = await lead.start(scene.request, **scene.start)
        if sent := getattr(scene, "sent", None):
            await run.wait()
            for each in await run.approvals():
                await run.approve(each, args=dict(sent))
        played.answer = await run.answer()
        if after is not None:
            await after(lead, played)
    return played
