"""On a terminal: lanes that move, questions that are asked, and everything put back afterwards."""

from __future__ import annotations

import re
import signal
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from cli.terminals import ESCAPES, MENU, Terminal, rest_of
from rich.console import Console

from leadhand.cli.terminal.live_view import MAX_LANES, LiveView
from leadhand.core.events import (
    AnyEvent,
    AttemptScheduled,
    AttemptStarted,
    Entry,
    ModelCallBegan,
    ModelCallReturned,
    OrderIssued,
    RunStarted,
    StepIssued,
    StepSettled,
)
from leadhand.core.limits import Usage
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.core.work_order import Step, Subtask, WorkOrder
from leadhand.flows.work_order.roles import RoleName

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_lanes_move_and_are_gone_when_the_answer_comes(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Measure the noise in Paris and Rome")
    child.expect("◐ .*measure_rome · Rome.*running")
    child.expect("1/2 ")
    leadhand.open_gate()

    after = rest_of(child)

    assert child.exitstatus == 0
    *_, answer = after.split("\x1b[2K")  # the last line that was drawn is wiped away
    assert "running" not in ESCAPES.sub("", answer)
    assert re.search(r"Paris: 40 dB.*Rome: 40 dB.*succeeded", ESCAPES.sub("", answer), re.DOTALL)


def test_a_process_that_is_killed_leaves_the_terminal_with_its_cursor(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Measure the noise in Rome")
    child.logfile_read = StringIO()
    child.expect("measure · Rome.*running")
    child.kill(signal.SIGKILL)
    rest_of(child)

    assert "\x1b[?25l" not in child.logfile_read.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["later\n", "\x03", "\x04"])
def test_a_question_can_be_put_off_and_answered_when_the_run_is_resumed(
    leadhand: Any, terminal: Terminal, key: str
) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Pay 30 to Bob")
    child.expect(MENU)
    child.send(key)
    assert "leadhand approvals" in rest_of(child)
    assert child.exitstatus == 4

    run_id = leadhand.listing()["run_id"]
    child = terminal("runs", "resume", run_id, "--tools", leadhand.tools)
    child.expect(MENU)
    child.sendline("no")
    child.expect("reason")
    child.sendline("too dear")
    assert "too dear (" in rest_of(child)
    assert child.exitstatus == 1
    assert not leadhand.calls


def test_ctrl_c_parks_the_run_and_puts_the_terminal_back(leadhand: Any, terminal: Terminal) -> None:
    child = terminal("run", "--offline", "--tools", leadhand.tools, "Measure the noise in Rome", columns=400)
    child.expect("measure · Rome.*running")
    child.sendintr()

    after = rest_of(child)

    assert child.exitstatus == 130
    assert "running" not in ESCAPES.sub("", after.split("\x1b[2K")[-1])
    assert "leadhand runs resume " in after
    assert leadhand.listing()["status"] == "paused"


def test_ctrl_c_ends_the_watching_and_not_the_run(leadhand: Any, terminal: Terminal) -> None:
    run_id = leadhand("run", "--offline", "--tools", leadhand.tools, "--detach", "Measure the noise in Rome").out
    child = terminal("runs", "watch", run_id.strip())
    child.expect("measure · Rome.*running")
    child.sendintr()

    rest_of(child)
    assert child.exitstatus == 130
    assert leadhand.listing()["owner"] is not None


def test_a_dumb_terminal_gets_lines(leadhand: Any, terminal: Terminal) -> None:
    written = rest_of(terminal("run", "--offline", "Weather in Paris?", TERM="dumb"))

    assert "wo-001.0 check_weather" in written
    assert "\x1b" not in written


def test_no_color_is_kept(leadhand: Any, terminal: Terminal) -> None:
    written = rest_of(terminal("run", "--offline", "Weather in Paris?", NO_COLOR="1"))

    assert "leadhand runs show" in written
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", written)


# --- the picture -------------------------------------------------------------------------------------------------


def drawn(lanes: LiveView, seconds: float = 3.0, columns: int = 100) -> str:
    """What the lanes look like so many seconds after noon."""
    console = Console(width=columns, height=40, file=StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(lanes.picture(NOON + timedelta(seconds=seconds)))
    return captured.get()


def lanes_of(*events: AnyEvent, subtasks: int, columns: int = 100) -> LiveView:
    """Lanes that saw an order of so many subtasks, and then these events, all at noon."""
    definition = RunDefinition(request="x", flow="work-order", models=ModelChoice(default="offline"))
    order = WorkOrder(
        work_order_id="wo-001",
        goal="x",
        subtasks=tuple(Subtask(name=f"piece_{n}", args={"place": f"town {n}"}) for n in range(subtasks)),
    )
    lanes = LiveView(Console(width=columns, height=40, file=StringIO()))
    seen = [RunStarted(definition=definition), OrderIssued(order=order), *events]
    for seq, event in enumerate(seen, start=1):
        lanes.take(Entry(seq=seq, at=NOON, epoch=1, event=event), new=False)
    return lanes


def begun(number: int) -> list[AnyEvent]:
    key = f"wo-001.{number}"
    return [
        StepIssued(step=Step(step_id=key, worker=RoleName.WORK)),
        AttemptStarted(attempt=f"{key}/a1", host="here"),
    ]


def thinking(worker: str) -> list[AnyEvent]:
    """The lead begins to plan, review or compose."""
    return [
        StepIssued(step=Step(step_id=worker, worker=worker)),
        AttemptStarted(attempt=f"{worker}/a1", host="here"),
    ]


def failing(number: int) -> list[AnyEvent]:
    key = f"wo-001.{number}"
    failure = {"message": "too slow", "type": "too_slow", "class": "transient"}
    later = NOON + timedelta(seconds=1.5)
    return [
        StepSettled.model_validate(
            {"step": key, "attempt": f"{key}/a1", "ok": False, "final": False, "failure": failure}
        ),
        AttemptScheduled(attempt=f"{key}/a2", continues=f"{key}/a1", not_before=later),
    ]


def test_a_thousand_workers_are_a_dozen_lanes_and_a_number() -> None:
    events = [event for number in range(1_000) for event in begun(number)]
    picture = drawn(lanes_of(*events, subtasks=1_200)).splitlines()

    assert len(picture) == MAX_LANES + 2
    assert picture[0].split() == ["◐", "piece_0", "·", "town", "0", "running", "3.0", "s"]
    assert "+988" in picture[MAX_LANES]
    assert re.search(r"0/1,200 .* 1,000 .* 200 ", picture[-1])


def test_a_narrow_terminal_shows_how_long_a_subtask_has_run() -> None:
    events = [*begun(0), *begun(1), *failing(1)]
    *rows, _ = drawn(lanes_of(*events, subtasks=2, columns=40), 125.0, columns=40).splitlines()
    assert max(map(len, rows)) <= 40
    (running,) = (line.split() for line in rows if "piece_0" in line)
    assert running[-4:] == ["2", "min", "5", "s"]


def test_what_was_spent_is_held_against_the_budget_if_it_is_known() -> None:
    usage = Usage(input_tokens=3_000, output_tokens=412, nanousd=4_200_000)
    began = ModelCallBegan(attempt="plan/a1", call_id="plan/t1", model="m")
    returned = ModelCallReturned(attempt="plan/a1", call_id="plan/t1", model="m", usage=usage)
    unknown = returned.evolve(usage=Usage(input_tokens=3_000, output_tokens=412, nanousd=None))

    assert re.search(r"3,412 .*\$0.0042 of \$1.00", drawn(lanes_of(*thinking("plan"), began, returned, subtasks=1)))
    assert "$" not in drawn(lanes_of(*thinking("plan"), began, unknown, subtasks=1))


def test_the_end_of_the_draft_is_shown_while_it_is_written() -> None:
    lanes = lanes_of(*thinking("compose"), subtasks=1)
    for number in range(10_000):
        lanes.write_draft("run", "compose/a1", f"word{number} ")

    picture = drawn(lanes)

    assert "word9999" in picture
    assert "word0 " not in picture
    assert len(picture.splitlines()) <= 7


# --- what a terminal shows of runs ------------------------------------------------------------------------------------


def test_an_answer_is_rendered_and_wrapped_at_words_on_a_terminal_and_raw_in_a_pipe(
    leadhand: Any, terminal: Terminal
) -> None:
    ask = ("research", "--offline", "What is a fork? What is an epoch?")
    written = ESCAPES.sub("", rest_of(terminal(*ask, columns=60)))
    lines = [line.rstrip() for line in written.splitlines()]
    assert "What is a fork?" in lines
    assert "## What is a fork?" not in written
    assert "## What is a fork?" in leadhand("runs", "show", leadhand.listing()["run_id"]).out
    assert max(map(len, lines[lines.index("What is a fork?") : lines.index("Sources:")])) <= 60


def test_the_list_of_runs_fits_a_terminal_and_has_short_ids(leadhand: Any, terminal: Terminal) -> None:
    assert leadhand("run", "--offline", "Weather in Paris, London, Rome, Madrid, Berlin and Vienna?").code == 0
    run_id = leadhand.listing()["run_id"]
    for columns, heading in ((80, "RUN STATUS AGE DONE REQUEST"), (40, "RUN STATUS AGE REQUEST")):
        written = rest_of(terminal("runs", "list", columns=columns)).splitlines()
        assert written[0].split() == heading.split()
        assert written[1].startswith(f"{run_id[4:12]}  succeeded")
        assert len(written) == 2
        assert all(len(line) < columns for line in written)
