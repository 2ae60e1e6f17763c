"""A server's log: a line for everything worth one, in the form that is asked for, and without secrets."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.fakes import FakeModels
from engine.worlds import ask as subtask
from engine.worlds import plan
from logged import QUOTED, SECRET, Terminal, log_to

from leadhand import ConfigurationError, Leadhand, ToolReturn, tool
from leadhand.engine.redaction import Redactor
from leadhand.server.logs import reset_logging, set_up_logging

SHOWN = ("canary", "4711", "hidden")


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    yield
    reset_logging()


# --- form ------------------------------------------------------------------------------------------------------------


def test_a_line_is_json_where_nobody_looks() -> None:
    log = log_to()
    logging.getLogger("leadhand.server").warning("%d runs wait", 3)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", log.line["timestamp"])
    assert {**log.line, "timestamp": ""} == {
        "timestamp": "",
        "level": "warning",
        "logger": "leadhand.server",
        "event": "3 runs wait",
    }


def test_a_line_is_for_people_on_a_terminal() -> None:
    log = log_to(Terminal())
    logging.getLogger("leadhand.server").warning("3 runs wait")
    assert re.fullmatch(r"\S+Z \[warning\s*\] 3 runs wait\s+\[\S+\]\n", log.text)


@pytest.mark.parametrize(
    ("method", "status", "told"), [("GET", 200, False), ("GET", 404, True), ("POST", 202, True), ("DELETE", 204, True)]
)
def test_on_a_terminal_what_was_only_looked_at_is_no_news(method: str, status: int, told: bool) -> None:
    fields = {"leadhand_fields": {"method": method, "path": "/api/runs", "status": status, "ms": 1.0}}
    terminal, machine = Terminal(), io.StringIO()

    for stream in (terminal, machine):
        log = log_to(stream)
        logging.getLogger("leadhand.access").info("request", extra=fields)
        assert bool(log.text) is (told or stream is machine)


@pytest.mark.parametrize(("stream", "form"), [(Terminal, "json"), (io.StringIO, "text")])
def test_the_form_that_is_asked_for_wins(stream: type[io.StringIO], form: str) -> None:
    log = log_to(stream(), LEADHAND_LOG_FORMAT=form.upper())
    logging.getLogger("leadhand").error("it happened")
    assert log.text.startswith("{") == (form == "json")
    assert "\x1b" not in log.text


def test_the_level_says_what_is_worth_a_line() -> None:
    log = log_to()
    logging.getLogger("leadhand").debug("too much")
    logging.getLogger("leadhand").info("enough")
    assert log.line["event"] == "enough"
    log = log_to(LEADHAND_LOG_LEVEL=" Debug ")
    logging.getLogger("leadhand").debug("wanted")
    assert log.line["event"] == "wanted"
    log = log_to(LEADHAND_LOG_LEVEL="error")
    for name in ("leadhand", "uvicorn.error"):
        logging.getLogger(name).warning("not wanted")
    assert log.text == ""


def test_that_the_server_starts_and_ends_is_told_only_to_those_who_debug() -> None:
    log = log_to()
    logging.getLogger("uvicorn.error").info("Started")
    logging.getLogger("uvicorn.error").warning("ASGI")
    assert log.line["event"] == "ASGI"
    log = log_to(LEADHAND_LOG_LEVEL="debug")
    logging.getLogger("uvicorn.error").info("Started")
    assert log.line["event"] == "Started"


@pytest.mark.parametrize("environment", [{"LEADHAND_LOG_LEVEL": "loud"}, {"LEADHAND_LOG_FORMAT": "xml"}])
def test_a_level_or_form_that_there_is_not_is_refused_with_those_there_are(environment: dict[str, str]) -> None:
    before = logging.getLogger().handlers[:]
    with pytest.raises(ConfigurationError) as refused:
        set_up_logging(environment, io.StringIO(), Redactor())
    assert next(iter(environment)) in refused.value.what
    assert "warning" in refused.value.how or "text" in refused.value.how
    assert logging.getLogger().handlers == before


@pytest.mark.parametrize("name", ["leadhand", "leadhand.tools", "uvicorn.error", "uvicorn", "somebody.else"])
def test_every_logger_writes_here_once_whatever_handlers_it_had(name: str) -> None:
    other = io.StringIO()
    handler = logging.StreamHandler(other)
    logger = logging.getLogger(name.partition(".")[0] if name != "uvicorn.error" else name)
    logger.addHandler(handler)
    try:
        log = log_to()
        logging.getLogger(name).error("it happened")
        assert log.line["logger"] == name
        assert (other.getvalue() == "") == (name != "somebody.else")
    finally:
        reset_logging()
        logger.removeHandler(handler)


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [SECRET, QUOTED], ids=["plain", "quoted"])
@pytest.mark.parametrize("form", ["json", "text"])
def test_no_secret_gets_into_a_line_by_any_way(secret: str, form: str) -> None:
    log = log_to(LEADHAND_LOG_FORMAT=form)
    logger = logging.getLogger("leadhand.server")
    logger.error("the key is %s", secret)
    logger.error("the key is " + secret)  # noqa: G003 - so would somebody else
    fields = {"value": secret, "values": [{"deep": (secret,)}], "error": ValueError(secret), secret: 1}
    logger.error("the key", extra={"leadhand_fields": fields})
    try:
        try:
            raise ValueError(secret)
        except ValueError as error:
            raise RuntimeError("around it") from error
    except RuntimeError:
        logger.exception("it broke")
    assert log.text.count("[redacted]") >= 7
    assert "RuntimeError: around it" in log.text
    for part in SHOWN:
        assert part not in log.text


async def test_a_run_whose_request_results_and_failures_hold_a_secret_logs_none_of_it(tmp_path: Path) -> None:
    @tool(retries=0)
    async def leak(what: str) -> ToolReturn:
        """Tell a secret, or break with it."""
        logging.getLogger("somebody.s.tool").info("asked for %s", SECRET)
        if what == "break":
            raise ValueError(f"bad {SECRET}")
        return ToolReturn(raw=SECRET, summary=SECRET)

    models = FakeModels(plan(subtask("a", "leak", what="tell"), subtask("b", "leak", what="break")), work=SECRET)
    log = log_to(LEADHAND_LOG_LEVEL="debug")
    async with Leadhand(models=models, tools=[leak], home=tmp_path) as lead:
        await lead.run(f"Tell me about {SECRET}")
    assert [line["event"] for line in log.lines if line["logger"] == "somebody.s.tool"] == ["asked for [redacted]"] * 2
    (raised,) = [line for line in log.lines if line["logger"] == "leadhand.tools"]
    assert "ValueError: bad [redacted]" in raised["exception"]
    assert SECRET not in log.text


def test_a_field_that_is_called_like_a_secret_is_blotted_out() -> None:
    log = log_to()
    fields = {"headers": {"Authorization": "Basic abc", "accept": "json"}}
    logging.getLogger("x").info("sent", extra={"leadhand_fields": fields})
    assert log.line["headers"] == {"Authorization": "[redacted]", "accept": "json"}


def test_tracebacks_show_no_values_of_variables() -> None:
    for form in ("json", "text"):
        log = log_to(LEADHAND_LOG_FORMAT=form)

        def divide(unnamed_value: int) -> float:
            return unnamed_value / 0

        try:
            divide(8_472_911)
        except ZeroDivisionError:
            logging.getLogger("x").exception("it broke")
        assert "ZeroDivisionError" in log.text
        assert "divide" in log.text
        assert "8472911" not in log.text


def test_a_line_that_cannot_be_made_is_missed_and_its_words_are_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    log = log_to()
    (handler,) = [each for each in logging.getLogger().handlers if type(each).__module__ == "leadhand.server.logs"]
    handler.handle(logging.makeLogRecord({"name": "leadhand.server", "msg": "%d", "args": (SECRET,)}))
    assert log.line["logger"] == "leadhand.server"
    assert SECRET not in log.text
    assert capsys.readouterr() == ("", "")


def test_a_stream_that_nobody_reads_any_more_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    log_to(stream)
    stream.close()
    logging.getLogger("leadhand.server").error(SECRET)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_not_told_what_to_do_by_a_line() -> None:
    log = log_to(Terminal())
    logging.getLogger("x").info("\x1b[2Jgone\r", extra={"leadhand_fields": {"path": "\x9b31m/x"}})
    assert "\\x1b[2Jgone\\x0d" in log.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", log.text)
