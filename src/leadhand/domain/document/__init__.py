"""The documents of a run, as scripts, the console and people read them: projections of the log and nothing else."""

from .event_line import event_line as event_line
from .run_document import artifact_lines as artifact_lines
from .run_document import run_document as run_document
from .run_document import run_line as run_line
from .run_document import work_order as work_order
from .run_document import work_state as work_state
from .shapes import ApprovalCard as ApprovalCard
from .shapes import ArtifactLine as ArtifactLine
from .shapes import Moment as Moment
from .shapes import RunDocument as RunDocument
from .shapes import RunLine as RunLine
from .shapes import iso as iso
