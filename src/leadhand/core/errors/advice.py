"""What a person can do next, in the words of each door: a command, or a route of the HTTP API."""

from __future__ import annotations

ACTIONS = {
    "list_runs": ("leadhand runs list", "GET /api/runs"),
    "show_run": ("leadhand runs show {run}", "GET /api/runs/{run}"),
    "show_event": ("leadhand runs show {run} --seq N", "GET /api/runs/{run}/events/N"),
    "watch_run": ("leadhand runs watch {run}", "GET /api/runs/{run}/events/stream"),
    "export_run": ("leadhand runs export {run}", "GET /api/runs/{run}/export"),
    "delete_run": ("leadhand runs delete {run}", "DELETE /api/runs/{run}"),
    "cancel_run": ("leadhand runs cancel {run}", "POST /api/runs/{run}/cancel"),
    "resume_run": ("leadhand runs resume {run}", "POST /api/runs/{run}/resume"),
    "raise_limits": (
        "leadhand runs resume {run} {flags}",
        "POST /api/runs/{run}/resume, with its proposed_limits as limits",
    ),
    "retry": ("leadhand runs retry {run}", "POST /api/runs/{run}/retry"),
    "follow_up": ("leadhand run --continue {run} REQUEST", "POST /api/runs/{run}/follow-up"),
    "confirm": ("pass --yes, or confirmed=True in Python", 'send "confirmed": true'),
    "list_approvals": ("leadhand approvals list, or approvals() in Python", "GET /api/approvals"),
    "answer": (
        "leadhand approvals approve {approval}, or deny (in Python: approve() and deny())",
        'POST /api/approvals/{approval} {{"decision": "approve" or "deny"}}',
    ),
    "settle": (
        "leadhand approvals settle {approval} --happened, or --did-not (in Python: settle_effect())",
        'POST /api/approvals/{approval} {{"decision": "settle", "happened": true or false}}',
    ),
    "list_keys": ("leadhand keys list", "GET /api/keys"),
    "list_workers": ("leadhand workers list", "GET /api/workers"),
}
"""Each action as a command and as a route. Programs in Python see commands; the names of their methods are near."""


class Advice(str):
    """Advice as a text for the command line and for Python; ``http`` is the same for a client of the HTTP API."""

    http: str

    def __new__(cls, text: str, **names: str) -> Advice:
        """Return a text in which ``{watch_run}`` and the like stand for actions on what is named: ``run="run_1"``."""
        made = super().__new__(cls, text.format_map(_Words(names, 0)))
        made.http = text.format_map(_Words(names, 1))
        return made


class _Words(dict[str, str]):
    """The names of things, and the actions in the words of a door."""

    def __init__(self, names: dict[str, str], door: int) -> None:
        super().__init__(names)
        self._names, self._door = names, door

    def __missing__(self, action: str) -> str:
        return ACTIONS[action][self._door].format_map(self._names)
