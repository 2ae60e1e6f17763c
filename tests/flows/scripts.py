"""Runs of the work-order flow, written by hand: what the lead says and how each subtask comes out."""

from __future__ import annotations

from typing import Any

from core.histories import History, definition

from leadhand.core import events as ev
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.run import AttemptStatus
from leadhand.core.state import AttemptState
from leadhand.flows.flow import Given


def look(name: str = "look", n: int = 1, **more: Any) -> dict[str, Any]:
    """A subtask as a lead proposes it."""
    return {"name": name, "tool": "look", "args": {"n": n}, **more}


def judged(name: str, n: int = 1) -> dict[str, Any]:
    """A subtask whose result a model has to judge: code cannot say whether it is what was expected."""
    return look(name, n, expected_output="what it looks like")


def free(name: str) -> dict[str, Any]:
    """A subtask that names no tool: its worker chooses."""
    return {"name": name, "tool": None, "expected_output": "what it looks like"}


def accept(*keys: str) -> list[dict[str, Any]]:
    return [{"subtask": key, "verdict": "accept"} for key in keys]


def retry(*keys: str) -> list[dict[str, Any]]:
    return [{"subtask": key, "verdict": "retry", "reason": "try again"} for key in keys]


def drop(*keys: str) -> list[dict[str, Any]]:
    return [{"subtask": key, "verdict": "drop", "reason": "it cannot be had"} for key in keys]


def replan(key: str, **replacement: Any) -> dict[str, Any]:
    return {"subtask": key, "verdict": "replan", "reason": "another way", "replacement": replacement}


class Script(History):
    """A run of the work-order flow; after each step the controller decides all that follows."""

    def __init__(self, *subtasks: dict[str, Any], cannot: Any = (), **limits: Any) -> None:
        super().__init__(definition(**{"max_requests": None, "max_tokens": None, "budget": None, **limits}))
        self.decide_all()
        if subtasks or cannot:
            self.think("plan", {"goal": "all of it", "subtasks": list(subtasks), "cannot": list(cannot)})

    def attempt(self, step: str) -> AttemptState:
        """The attempt at a step that is under way."""
        return next(attempt for attempt in self.live if attempt.attempt.rpartition("/a")[0] == step)

    @property
    def under_way(self) -> list[str]:
        """What is being worked on or thought about."""
        return [attempt.attempt.rpartition("/a")[0] for attempt in self.live]

    def think(self, step: str, value: Any = None, text: str = "") -> None:
        """A thought comes back."""
        self.thinks(self.attempt(step), value, text or "the answer")
        self.decide_all()

    def think_fails(self, step: str, class_: str = "unavailable") -> None:
        """A thought cannot be had, however often it is tried."""
        while step in self.under_way:
            self.fails(self.attempt(step), FailureClass(class_), "http_401")
            self.decide_all()

    def unusable(self, step: str, message: str) -> None:
        """What a thought answers cannot be used, however often it is asked for."""
        while step in self.under_way:
            failure = Failure.of(message, "malformed_answer", FailureClass.INVALID)
            self.returns(self.attempt(step), failure=failure)
            self.decide_all()

    def done(self, *keys: str) -> None:
        """Subtasks come back as they should."""
        for key in keys:
            self.works(self.attempt(key))
        self.decide_all()

    def failed(self, key: str, class_: str = "unavailable") -> None:
        """A subtask fails, however often it is tried."""
        while key in self.under_way:
            self.fails(self.attempt(key), FailureClass(class_))
            self.decide_all()

    def park(self, key: str) -> None:
        """A subtask has to wait for a person."""
        attempt = self.attempt(key)
        self.starts(attempt)
        self.parks(attempt, ["approval"])
        self.decide_all()

    def answered(self, key: str) -> None:
        """A person answers."""
        for attempt in self.attempts(AttemptStatus.PARKED):
            if attempt.attempt.startswith(f"{key}/"):
                self.answers_all(attempt)
        self.decide_all()

    def reviewed(self, verdicts: list[dict[str, Any]], **more: Any) -> None:
        """The review of the latest order comes back, where one shard is all there is."""
        complete = all(verdict["verdict"] == "accept" for verdict in verdicts) and not more.get("missing")
        (name,) = (name for name in self.under_way if name.startswith("review-"))
        self.think(name, {"verdicts": verdicts, "complete": complete, **more})

    def facts(self, step: str) -> dict[str, Any]:
        """What the worker of a step is told."""
        return self.policy.brief(self.state, self.state.steps[step])

    def problems(self, step: str, value: Any) -> list[str]:
        """Why an answer of a step is not accepted."""
        checks = self.policy.details(self.state, step).checks
        return [] if checks is None else [*checks(self.state, self.state.steps[step], Given("", value))]

    @property
    def finished(self) -> ev.RunFinished:
        assert self.state.finished is not None, f"the run is {self.state.status}: {self.under_way}"
        return self.state.finished
