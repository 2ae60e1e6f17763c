"""Turn OSRM's maneuver codes into instructions.

Codes: github.com/Project-OSRM/osrm-backend/blob/master/docs/http.md, "StepManeuver object". New codes may appear at
any time and are to be read as turns.
"""

from __future__ import annotations

_PHRASES = {
    "depart": "Start{on}",
    "arrive": "Arrive at the destination{at_side}",
    "new name": "Continue{onto}",
    "notification": "Continue{onto}",
    "use lane": "Continue{onto}",
    "merge": "Merge{side}{onto}",
    "on ramp": "Take the ramp{on_side}{onto}",
    "ramp": "Take the ramp{on_side}{onto}",
    "off ramp": "Take the exit{on_side}{onto}",
    "fork": "Keep {fork} at the fork{onto}",
    "roundabout": "At the roundabout take {exit}{onto}",
    "rotary": "At the roundabout take {exit}{onto}",
    "exit roundabout": "Leave the roundabout{onto}",
    "exit rotary": "Leave the roundabout{onto}",
    "roundabout turn": "At the roundabout {turn}{onto}",
    "end of road": "At the end of the road {turn}{onto}",
}
_TURNS = {"": "Go straight on", "straight": "Go straight on", "uturn": "Make a U-turn"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def phrase(kind: str, modifier: str = "", *, road: str = "", leave_by: int | None = None) -> str:
    """One maneuver as an instruction, without a full stop: ``Turn slightly left onto Rue de Rivoli``.

    ``kind`` and ``modifier`` are OSRM's codes, ``road`` the name of the way taken next (empty: it has none),
    ``leave_by`` the number of the exit of a roundabout, counted from 1.
    """
    side = modifier.rpartition(" ")[2] if modifier.endswith(("left", "right")) else ""
    turn = _TURNS.get(modifier) or f"Turn {modifier.replace('slight ', 'slightly ').replace('sharp ', 'sharply ')}"
    number = _ORDINALS[leave_by - 1] if leave_by is not None and 1 <= leave_by <= len(_ORDINALS) else ""
    return _PHRASES.get(kind, "{first}{onto}").format(
        first=turn,
        on=f" on {road}" if road else "",
        onto=f" onto {road}" if road else "",
        side=f" {side}" if side else "",
        at_side=f", on the {side}" if side else "",
        on_side=f" on the {side}" if side else "",
        fork=side or "straight on",
        turn=turn.lower(),
        exit="the exit" if leave_by is None else f"the {number} exit" if number else f"exit {leave_by}",
    )
