"""One life of a scene, as a program that a test kills: ``python child.py CONFIG``, JSON.

Every request to the model is a line in the file ``calls``. The request of the step ``hold`` is never answered.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from leads import leadhand_of

from verify.judges import contradicts
from verify.runs import Played
from verify.scenes import HONEST
from verify.small import Small

CONFIG: dict[str, Any] = json.loads(sys.argv[1])


async def live() -> None:
    scene = HONEST[CONFIG["scene"]]
    home = Path(CONFIG["home"])
    played = Played(scene, scene.text, None, contradicts)

    async def reply(request: Any) -> Any:
        name = request.key.split("/")[1]
        with (home / "calls").open("a") as file:
            file.write(f"{name}\n")
        if name.endswith(CONFIG.get("hold", "-")):
            print(json.dumps({"held": name}), flush=True)
            await asyncio.Event().wait()
        return played.reply(request)

    settings: dict[str, Any] = {"check": "judge", "review_model": "small", **scene.settings(home)}
    async with leadhand_of(models=Small(reply), home=home / "home", **settings) as lead:
        resumed = CONFIG.get("resume")
        run = await (lead.resume(resumed) if resumed else lead.start(scene.request, **scene.start))
        print(json.dumps({"run_id": run.run_id}), flush=True)
        answer = await run.answer()
        evidence = answer.document["evidence"]
        print(json.dumps({"status": answer.status.value, "answer": answer.text, "evidence": evidence}))


asyncio.run(live())
