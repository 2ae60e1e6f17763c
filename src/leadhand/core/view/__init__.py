"""The view: what is shown of a run, as one document. Every entry of the log changes it by a merge patch.

Consoles, terminals and exporters use it instead of folding the log themselves.
"""

from .happenings import AttemptHappened as AttemptHappened
from .happenings import CallHappened as CallHappened
from .happenings import Happening as Happening
from .happenings import RunEnded as RunEnded
from .happenings import StepSettled as StepSettled
from .happenings import happenings as happenings
from .patches import merge as merge
from .projection import Change as Change
from .projection import Projection as Projection
from .projection import View as View
from .projection import changes as changes
from .shapes import ViewDocument as ViewDocument
from .shapes import empty as empty
from .texts import is_interruption as is_interruption
from .words import WORDS as WORDS
from .words import Level as Level
from .words import Tone as Tone
from .words import Words as Words
from .words import cause_word as cause_word
from .words import status_word as status_word
from .words import words as words
