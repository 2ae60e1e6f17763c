"""Ports: the interfaces between the engine and the outside world, each small enough for a one-page fake."""

from .models import FormRefused as FormRefused
from .models import ModelError as ModelError
from .models import Models as Models
from .stores import ContextStore as ContextStore
from .stores import PlaceStore as PlaceStore
from .tools import BoundTool as BoundTool
from .tools import Check as Check
from .tools import Spending as Spending
from .tools import Spent as Spent
from .tools import ToolContext as ToolContext
from .work import Caller as Caller
from .work import Clock as Clock
from .work import Dispatcher as Dispatcher
from .work import Files as Files
from .work import Library as Library
from .work import Page as Page
from .work import PartialResults as PartialResults
from .work import Replied as Replied
from .work import Web as Web
from .work import WebReply as WebReply
from .work import Work as Work
from .work import Workshop as Workshop
