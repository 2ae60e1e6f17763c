"""What a terminal shows of a report while it is being written."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from leadhand.cli.terminal.live_view import LiveView

from .reports import SOUND, TOPIC, lead, model


async def test_the_draft_of_a_report_is_shown_while_it_is_written(tmp_path: Path) -> None:
    written: dict[str, list[str]] = {}

    def note(_run: str, attempt: str, piece: str) -> None:
        written.setdefault(attempt, []).append(piece)

    console = Console(width=100, height=40, file=StringIO(), color_system=None)
    async with lead(tmp_path, model(), on_text=note) as leadhand:
        answer = await leadhand.run(TOPIC, flow="report")
        entries = await (await leadhand.runtime()).store.read(answer.run_id)
    (attempt,) = (each for each, pieces in written.items() if "".join(pieces) == SOUND)
    pieces = written[attempt]

    view = LiveView(console)
    for entry in entries:
        view.take(entry, new=False)
        if getattr(entry.event, "type", "") == "attempt_started" and getattr(entry.event, "attempt", "") == attempt:
            break
    else:
        raise AssertionError("the draft was never begun")
    half = len(pieces) // 2
    for piece in pieces[:half]:
        view.write_draft(answer.run_id, attempt, piece)

    with console.capture() as captured:
        console.print(view.picture(entries[-1].at))
    picture = captured.get()
    assert "draft" in picture.split()
    assert "".join(pieces[:half]).split()[-1] in picture
    assert pieces[-1].strip() not in picture.split()
