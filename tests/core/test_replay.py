"""The log is the truth: however it is read, the state is the same; whatever it holds, it is read as it was written."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from core.histories import History
from core.invariants import check_log, differences, parts
from core.moves import histories
from leadhand.core.errors import UnreadableRun
from leadhand.core.events import EVENT_TYPES, Entry
from leadhand.core.evolve import evolve, fold, replay, start


@given(histories())
def test_a_log_folded_again_is_the_same_state(history: History):
    again = replay("run_1", history.log)

    assert differences(again, history.state) == {}
    assert again == replay("run_1", history.log)


@given(histories(), st.data())
def test_a_log_folded_in_two_parts_is_the_same_state_wherever_it_is_cut(history: History, data: st.DataObject):
    cut = data.draw(st.integers(1, len(history.log)))
    first = replay("run_1", history.log[:cut])
    unchanged = replay("run_1", history.log[:cut])

    assert differences(fold(first, history.log[cut:]), history.state) == {}
    assert differences(first, unchanged) == {}, "the fold changed the state it began from"


@given(histories(), st.data())
def test_entries_that_come_twice_change_nothing(history: History, data: st.DataObject):
    log = history.log
    cuts = sorted(data.draw(st.lists(st.integers(1, len(log)), min_size=1, max_size=4)))
    state = start("run_1", log[0])
    for cut in cuts:
        resent = data.draw(st.integers(0, state.seq))
        state = fold(state, log[resent:cut])
        state = fold(state, log[:cut])
    assert differences(fold(state, log), history.state) == {}


@given(histories())
def test_nothing_in_a_log_or_a_state_can_be_changed(history: History):
    assert {type(each) for each in parts((*history.log, history.state))} & {dict, list, set} == set()
    with pytest.raises(FrozenInstanceError):
        history.state.seq = 0


@given(histories())
def test_a_log_folded_entry_by_entry_is_sound_at_every_step(history: History):
    assert differences(check_log("run_1", history.log), history.state) == {}


def reread(entry: Entry) -> Entry:
    event = entry.event
    return entry._replace(event=EVENT_TYPES[event.type].model_validate_json(event.body))


@given(histories())
def test_every_event_is_read_from_json_as_it_was_written(history: History):
    for entry in history.log:
        event = entry.event
        body = json.loads(json.dumps(event.model_dump(mode="json", by_alias=True)))
        assert EVENT_TYPES[body["type"]].model_validate(body) == event
        assert reread(entry) == entry


@given(histories())
def test_a_log_read_back_from_json_is_the_same_state(history: History):
    written = [reread(entry) for entry in history.log]

    assert differences(replay("run_1", written), history.state) == {}


def test_a_log_must_begin_with_the_start_of_its_run():
    history = History()
    history.decide_all()

    with refused(UnreadableRun, "step_issued"):
        replay("run_1", history.log[1:])
    with refused(ValueError, "run_1"):
        replay("run_1", [])


def test_one_event_leaves_the_state_before_it_as_it_was():
    history = History()
    history.decide_all()
    before = replay("run_1", history.log)
    history.starts(history.live[0])
    evolve(before, history.log[-1])

    assert differences(before, replay("run_1", history.log[:-1])) == {}


def test_every_event_has_a_name_of_its_own_in_the_past_tense():
    assert len(EVENT_TYPES) == len(set(EVENT_TYPES.values()))
    for name, event in EVENT_TYPES.items():
        assert name == "".join(f"_{c.lower()}" if c.isupper() else c for c in event.__name__).removeprefix("_")
        assert event.version >= 1
