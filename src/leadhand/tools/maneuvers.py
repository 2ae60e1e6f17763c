"""Turn OSRM's maneuver codes into instructions.

Codes: github.com/Project-OSRM/osrm-backend/blob/master/docs/http.md, "StepManeuver object". New codes may appear at
any time and are to be read as turns.
"""

from __future__ import annotations

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def phrase(kind: str, modifier: str = "", *, road: str = "", leave_by: int | None = None) -> str:
    """One maneuver as an instruction, without a full stop: ``Turn slightly left onto Rue de Rivoli``.

    ``kind`` and ``modifier`` are OSRM's codes, ``road`` the name of the way taken next (empty: it has none),
    ``leave_by`` the number of the exit of a roundabout, counted from 1.
    """
    onto = f" onto {road}" if road else ""
    side = modifier.rpartition(" ")[2] if modifier.rpartition(" ")[2] in ("left", "right") else ""
    match kind:
        case "depart":
            return f"Start on {road}" if road else "Start"
        case "arrive":
            return f"Arrive at the destination, on the {side}" if side else "Arrive at the destination"
        case "new name" | "notification" | "use lane":
            return f"Continue{onto}"
        case "merge":
            return f"Merge{f' {side}' if side else ''}{onto}"
        case "on ramp" | "ramp":
            return f"Take the ramp{f' on the {side}' if side else ''}{onto}"
        case "off ramp":
            return f"Take the exit{f' on the {side}' if side else ''}{onto}"
        case "fork":
            return f"Keep {side or 'straight on'} at the fork{onto}"
        case "roundabout" | "rotary":
            return f"At the roundabout take {_exit(leave_by)}{onto}"
        case "exit roundabout" | "exit rotary":
            return f"Leave the roundabout{onto}"
        case "roundabout turn":
            return f"At the roundabout {_turn(modifier).lower()}{onto}"
        case "end of road":
            return f"At the end of the road {_turn(modifier).lower()}{onto}"
        case _:
            return f"{_turn(modifier)}{onto}"


def _turn(modifier: str) -> str:
    match modifier:
        case "" | "straight":
            return "Go straight on"
        case "uturn":
            return "Make a U-turn"
        case "slight left" | "slight right":
            return f"Turn slightly {modifier.removeprefix('slight ')}"
        case "sharp left" | "sharp right":
            return f"Turn sharply {modifier.removeprefix('sharp ')}"
        case _:
            return f"Turn {modifier}"


def _exit(number: int | None) -> str:
    if number is None:
        return "the exit"
    return f"the {_ORDINALS[number - 1]} exit" if 1 <= number <= len(_ORDINALS) else f"exit {number}"
