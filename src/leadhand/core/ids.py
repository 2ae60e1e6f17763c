"""Derived ids of orders, subtasks, attempts and calls. Only a run's id is generated; all others are numbered.

``wo-001`` is the first order of a run, ``wo-001.0`` its first subtask (and its step), ``wo-001.0/a2`` the second
attempt at it, ``wo-001.0/t1/c0`` the first call of its second turn: without the attempt, so that retries have its key.
A turn of a conversation that a later attempt began has the number of that attempt: ``wo-001.0/t3.1/c0``.
"""

from __future__ import annotations


def order_id(number: int) -> str:
    """Return the id of a run's ``number``-th order, counted from 1."""
    return f"wo-{number:03d}"


def subtask_key(order: str, index: int) -> str:
    """Return the key of a subtask, which is unique in its run."""
    return f"{order}.{index}"


def attempt_id(step: str, number: int) -> str:
    """Return the id of the ``number``-th attempt at a step, counted from 1."""
    return f"{step}/a{number}"


def step_of(attempt: str) -> str:
    """Return the step of an attempt."""
    return attempt.rpartition("/a")[0]


def step_of_call(call_id: str) -> str:
    """Return the step of a tool call: ``wo-001.0`` for ``wo-001.0/t1/c0``; "" if the id is not one of a call."""
    return call_id.rpartition("/t")[0]


def split_attempt(attempt: str) -> tuple[str, str]:
    """Return the step and the number of an attempt."""
    key, _, number = attempt.rpartition("/a")
    return key, number


def model_call_id(step: str, conversation: int, turn: int) -> str:
    """Return the key of the model call of a turn, counted from 0; attempt 1 begins the first ``conversation``."""
    return f"{step}/t{turn}" if conversation == 1 else f"{step}/t{conversation}.{turn}"


def tool_call_id(step: str, conversation: int, turn: int, position: int) -> str:
    """The key of a tool call: step, turn and position in the reply. With the run's id, it is the effect key."""
    return f"{model_call_id(step, conversation, turn)}/c{position}"


def question_id(call_id: str, which: int | str) -> str:
    """Return the id of a question that a call asks a person: of the how many-th before it is made, counted from 1, or
    of any while it goes on."""
    return f"{call_id}/q{which}"


def asking_call(question: str) -> str:
    """Return the call that asks a question; "" if no call does."""
    return question.rpartition("/q")[0]


def place_of(call_id: str) -> tuple[int, int]:
    """Return the turn of a call in its conversation, and its position in the reply; -1 for a model call."""
    turn, _, position = call_id.rpartition("/t")[2].partition("/c")
    return int(turn.rpartition(".")[2]), int(position or -1)


def event_id(seq: int) -> str:
    """Return the id under which an event of the log is cited."""
    return f"e-{seq}"
