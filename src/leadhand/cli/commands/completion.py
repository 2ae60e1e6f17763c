"""``leadhand completion``: print the completion script of a shell."""

from __future__ import annotations

from typing import Annotated

from click.shell_completion import get_completion_class

from leadhand.cli.options import Flag
from leadhand.cli.parser import COMPLETING, LEADHAND
from leadhand.cli.terminal.streams import write


async def completion(shell: Annotated[str, Flag("The shell.", choices=("bash", "zsh", "fish"))], /) -> None:
    """Print the completion script of a shell.

    Commands, flags, their values, files and the ids of runs are completed.

    Examples:
      eval "$(leadhand completion bash)"    # in ~/.bashrc
      eval "$(leadhand completion zsh)"     # in ~/.zshrc, after compinit
      leadhand completion fish > ~/.config/fish/completions/leadhand.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    write(script(LEADHAND, {}, "leadhand", COMPLETING).source())
