"""The view: what is shown of a run, as one document. Every entry of the log changes it by a merge patch.

Consoles, terminals and exporters use it instead of folding the log themselves.
"""

from .patches import merge
from .projection import Change, Projection, View, changes
from .shapes import ViewDocument, empty
from .steps import AssignmentSettled, AttemptStep, CallStep, RunEnded, Step, steps
from .texts import is_interruption
from .words import WORDS, Level, Tone, Words, words

__all__ = [
    "WORDS",
    "AssignmentSettled",
    "AttemptStep",
    "CallStep",
    "Change",
    "Level",
    "Projection",
    "RunEnded",
    "Step",
    "Tone",
    "View",
    "ViewDocument",
    "Words",
    "changes",
    "empty",
    "is_interruption",
    "merge",
    "steps",
    "words",
]
