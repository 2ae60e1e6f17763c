"""Ports: the interfaces between the engine and the outside world, each small enough for a one-page fake."""

from .models import FormRefused as FormRefused
from .models import ModelError as ModelError
from .models import Models as Models
from .stores import CARRY_OUT as CARRY_OUT
from .stores import DRIVE as DRIVE
from .stores import LARGEST_MESSAGE as LARGEST_MESSAGE
from .stores import VERSION as VERSION
from .stores import ContextStore as ContextStore
from .stores import DatabaseStore as DatabaseStore
from .stores import Job as Job
from .stores import Record as Record
from .stores import in_database as in_database
from .work import BoundTool as BoundTool
from .work import Caller as Caller
from .work import Check as Check
from .work import Clock as Clock
from .work import Dispatcher as Dispatcher
from .work import Files as Files
from .work import Library as Library
from .work import Page as Page
from .work import PartialResults as PartialResults
from .work import ToolContext as ToolContext
from .work import Web as Web
from .work import WebReply as WebReply
from .work import Work as Work
from .work import Workshop as Workshop
