"""``leadhand completion``: print the completion script of a shell, or what completes a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from leadhand.app.formatting import clean, one_line, short_id
from leadhand.cli.catalogue import BY_WORDS, COMMANDS, GROUPS
from leadhand.cli.options import Flag, StoreFlags, open_reader
from leadhand.cli.parser import parameters_of
from leadhand.cli.terminal.streams import write
from leadhand.core.errors import UsageError

MOST_RUNS = 50
"""Runs that are completed: the newest ones."""
WORDS = "words"
"""Instead of a shell: prints what completes the last of the words, for the scripts."""
SCRIPTS = {
    "bash": """\
# Completion of leadhand for bash. Load it in ~/.bashrc: eval "$(leadhand completion bash)"
_leadhand() {
    local IFS=$'\\n' current="${COMP_WORDS[COMP_CWORD]}" found
    found=$(leadhand completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
    COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _leadhand leadhand
""",
    "zsh": """\
#compdef leadhand
# Completion of leadhand for zsh. Load it in ~/.zshrc, after compinit: eval "$(leadhand completion zsh)"
_leadhand() {
    local -a found given=("${(@)words[2,CURRENT]}")
    found=(${(f)"$(leadhand completion words -- "${given[@]}" 2>/dev/null | sed $'s/:/\\\\\\\\:/g; s/\\t/:/')"})
    if (($#found)); then _describe value found; else _files; fi
}
compdef _leadhand leadhand
""",
    "fish": """\
# Completion of leadhand for fish. Save it: leadhand completion fish > ~/.config/fish/completions/leadhand.fish
function __leadhand_complete
    set -l found (leadhand completion words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c leadhand -f -a '(__leadhand_complete)'
""",
}


async def completion(
    shell: Annotated[str, Flag("The shell: bash, zsh or fish.", choices=tuple(SCRIPTS))],
    /,
    *words: Annotated[str, Flag("The words of a command line; the scripts ask what completes the last one.", "WORD")],
    store: StoreFlags = StoreFlags(),
) -> None:
    """Print the completion script of a shell."""
    if shell == WORDS:
        found = await _candidates(words or ("",), store)
        write("".join(f"{word}\t{text}".rstrip() + "\n" for word, text in found.items()))
    elif shell in SCRIPTS:
        write(SCRIPTS[shell])
    else:
        raise UsageError(f"invalid shell: {shell!r}", f"Choose from: {', '.join(SCRIPTS)}.")


async def _candidates(words: Sequence[str], store: StoreFlags) -> Mapping[str, str]:
    """Return what the last word may be, each with its meaning; nothing for files and other values."""
    *before, current = words
    command = BY_WORDS.get(tuple(before[:2])) or BY_WORDS.get(tuple(before[:1]))
    if command is None:
        if not before:
            return {each.words[0]: GROUPS.get(each.words[0], each.summary) for each in COMMANDS}
        return {each.words[1]: each.summary for each in COMMANDS if [each.words[0]] == before}
    parameters = parameters_of(command.load())
    flags = {each.flag: each for each in parameters if each.flag}
    wanted = flags.get(before[-1])
    if wanted is None or wanted.type is bool:
        if current.startswith("-"):
            return {flag: each.help.text.partition(". ")[0].rstrip(".") for flag, each in flags.items()}
        wanted = next((each for each in parameters if not each.flag), None)
    if wanted is None or wanted.help.value != "RUN":
        return {} if wanted is None else dict.fromkeys(wanted.help.choices, "")
    async with open_reader(store) as runtime:
        listings = await runtime.store.runs(limit=MOST_RUNS)
    return {short_id(each.run_id): one_line(clean(each.request))[:60] for each in listings}
