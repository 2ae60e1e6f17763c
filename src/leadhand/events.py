"""The events of runs, as ``run.events()`` yields them: what happened, with the fields of the log.

::

    async for event in run.events():
        match event:
            case events.ToolCallReturned(tool=tool, ok=False):
                print(f"{tool} failed")
            case events.RunFinished(status=status):
                print(status.value)
"""

from __future__ import annotations

from leadhand.core.events import AnyEvent as AnyEvent
from leadhand.core.events import ApprovalAnswered as ApprovalAnswered
from leadhand.core.events import ApprovalRequested as ApprovalRequested
from leadhand.core.events import ArtifactWritten as ArtifactWritten
from leadhand.core.events import AttemptParked as AttemptParked
from leadhand.core.events import AttemptReturned as AttemptReturned
from leadhand.core.events import AttemptScheduled as AttemptScheduled
from leadhand.core.events import AttemptStarted as AttemptStarted
from leadhand.core.events import CallAnswered as CallAnswered
from leadhand.core.events import ConversationCompacted as ConversationCompacted
from leadhand.core.events import ElementWritten as ElementWritten
from leadhand.core.events import ModelCallBegan as ModelCallBegan
from leadhand.core.events import ModelCallReturned as ModelCallReturned
from leadhand.core.events import NoteEmitted as NoteEmitted
from leadhand.core.events import OrderIssued as OrderIssued
from leadhand.core.events import QuestionAnswered as QuestionAnswered
from leadhand.core.events import QuestionAsked as QuestionAsked
from leadhand.core.events import RequestDecided as RequestDecided
from leadhand.core.events import ResultsJudged as ResultsJudged
from leadhand.core.events import RunChanged as RunChanged
from leadhand.core.events import RunClaimed as RunClaimed
from leadhand.core.events import RunFinished as RunFinished
from leadhand.core.events import RunRequested as RunRequested
from leadhand.core.events import RunStarted as RunStarted
from leadhand.core.events import RunStatusSet as RunStatusSet
from leadhand.core.events import SignalSent as SignalSent
from leadhand.core.events import StepIssued as StepIssued
from leadhand.core.events import StepRequested as StepRequested
from leadhand.core.events import StepSettled as StepSettled
from leadhand.core.events import TodosSet as TodosSet
from leadhand.core.events import ToolCallBegan as ToolCallBegan
from leadhand.core.events import ToolCallReturned as ToolCallReturned
from leadhand.core.events import WorkerDefined as WorkerDefined
