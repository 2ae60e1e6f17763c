"""Hooks: your own checks before and after model calls and tool calls, and before the answer.

Pass them as ``Leadhand(hooks=[…])``: instances of subclasses of :class:`Hook`, or functions with one of the decorators.
"""

from __future__ import annotations

from collections.abc import Callable

from leadhand.ports.hooks import AfterModel as AfterModel
from leadhand.ports.hooks import AfterTool as AfterTool
from leadhand.ports.hooks import BeforeAnswer as BeforeAnswer
from leadhand.ports.hooks import BeforeModel as BeforeModel
from leadhand.ports.hooks import BeforeTool as BeforeTool
from leadhand.ports.hooks import Block as Block
from leadhand.ports.hooks import Change as Change
from leadhand.ports.hooks import FunctionHook, Returned
from leadhand.ports.hooks import Hook as Hook
from leadhand.ports.hooks import RequireApproval as RequireApproval


def before_model(function: Callable[[BeforeModel], Returned]) -> Hook:
    """Make a hook of a function that decides whether a model call is made."""
    return FunctionHook("before_model", function)


def after_model(function: Callable[[AfterModel], Returned]) -> Hook:
    """Make a hook of a function that decides whether the reply of a model is used."""
    return FunctionHook("after_model", function)


def before_tool(function: Callable[[BeforeTool], Returned]) -> Hook:
    """Make a hook of a function that decides whether, and with which arguments, a tool call is made."""
    return FunctionHook("before_tool", function)


def after_tool(function: Callable[[AfterTool], Returned]) -> Hook:
    """Make a hook of a function that decides whether what a tool returned is used."""
    return FunctionHook("after_tool", function)


def before_answer(function: Callable[[BeforeAnswer], Returned]) -> Hook:
    """Make a hook of a function that decides whether people get an answer."""
    return FunctionHook("before_answer", function)
