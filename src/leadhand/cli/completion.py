"""The completion scripts of the shells, from the commands and flags that the parser knows."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.cli.catalogue import COMMANDS, GROUPS, Command
from leadhand.cli.parser import Parameter, parameters_of

RUNS = "runs"
"""Instead of a shell: prints the ids of runs, for the scripts."""
_KINDS = {"FILE": "file", "DIR": "dir", "RUN": "run"}
"""What a value is, by its name in the help."""
_LIST_RUNS = "leadhand completion runs 2>/dev/null"


class _Value(NamedTuple):
    """What a flag or an argument takes: "file", "dir", "run", one of ``choices``, or "" for anything else."""

    kind: str
    choices: tuple[str, ...] = ()


_Take = Callable[[_Value], str]
_Words = Callable[[Any], str]


class _Entry(NamedTuple):
    """A command with its flags, what each of them takes (None: no value), and what its arguments are."""

    words: str
    summary: str
    flags: Mapping[str, tuple[str, _Value | None]]
    argument: _Value


def script(shell: str) -> str:
    """Return the completion script for ``bash``, ``zsh`` or ``fish``."""
    entries = [_entry(command) for command in COMMANDS]
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](entries)


def _entry(command: Command) -> _Entry:
    flags: dict[str, tuple[str, _Value | None]] = {}
    argument = _Value("")
    for each in parameters_of(command.load()):
        if each.flag:
            first_sentence = each.help.text.partition(". ")[0].rstrip(".")
            flags[each.flag] = first_sentence, None if each.type is bool else _value(each)
        elif argument == _Value(""):
            argument = _value(each)
    flags["--help"] = "Show the help of this command.", None
    return _Entry(" ".join(command.words), command.summary, flags, argument)


def _value(each: Parameter) -> _Value:
    return _Value(_KINDS.get(each.help.value, ""), each.help.choices)


def _first_words() -> dict[str, str]:
    found = {each.words[0]: GROUPS.get(each.words[0], each.summary) for each in COMMANDS}
    found |= {"help": "Show the help of a command.", "--help": "Show the help.", "--version": "Show the version."}
    return found


def _of_group(group: str) -> dict[str, str]:
    return {each.words[1]: each.summary for each in COMMANDS if each.words[0] == group}


def _by_value(entries: Sequence[_Entry]) -> dict[_Value, list[str]]:
    """Return "COMMAND FLAG" for all flags that take a value, by what they take."""
    found: dict[_Value, list[str]] = {}
    for each in entries:
        for flag, (_, value) in each.flags.items():
            if value is not None:
                found.setdefault(value, []).append(f"{each.words} {flag}")
    return found


def _arm(patterns: Sequence[str], action: str) -> str:
    return f"        {'|'.join(map(shlex.quote, patterns))}) {action} ;;"


def _arguments(entries: Sequence[_Entry]) -> dict[_Value, list[str]]:
    found: dict[_Value, list[str]] = {}
    for each in entries:
        if each.argument != _Value(""):
            found.setdefault(each.argument, []).append(each.words)
    return found


# --- bash and zsh ----------------------------------------------------------------------------------------------------


def _bash(entries: Sequence[_Entry]) -> str:
    def words(given: Mapping[str, object] | Sequence[str]) -> str:
        return f"_leadhand_words {shlex.quote(' '.join(given))}"

    def take(value: _Value) -> str:
        if value.choices:
            return words(value.choices)
        kinds = {"file": "_leadhand_files -f", "dir": "_leadhand_files -d"}
        return {**kinds, "run": f'_leadhand_words "$({_LIST_RUNS} | cut -f1)"'}.get(value.kind, ":")

    return "\n".join(
        [
            '# Completion of leadhand for bash. Load it in ~/.bashrc: eval "$(leadhand completion bash)"',
            "_leadhand_words() {",
            "    local IFS=$' \\t\\n'",
            '    COMPREPLY=($(compgen -W "$1" -- "$current"))',
            "}",
            "_leadhand_files() {",
            "    compopt -o filenames 2>/dev/null",
            "    local IFS=$'\\n'",
            '    COMPREPLY=($(compgen "$1" -- "$current"))',
            "}",
            "_leadhand() {",
            '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            '    local command="${COMP_WORDS[1]}"',
            "    COMPREPLY=()",
            f"    if ((COMP_CWORD == 1)); then {words(_first_words())}; return; fi",
            *_body(entries, words, take, second="((COMP_CWORD == 2))", word='"${COMP_WORDS[2]}"'),
            "}",
            "complete -F _leadhand leadhand",
            "",
        ]
    )


def _zsh(entries: Sequence[_Entry]) -> str:
    def words(given: Mapping[str, str] | Sequence[str]) -> str:
        helps = given if isinstance(given, Mapping) else dict.fromkeys(given, "")
        listed = (shlex.quote(f"{word}:{text}" if text else word) for word, text in helps.items())
        return f"found=({' '.join(listed)}); _describe value found"

    def take(value: _Value) -> str:
        if value.choices:
            return words(value.choices)
        runs = f"found=(${{(f)\"$({_LIST_RUNS} | tr '\\t' ':')\"}}); _describe run found"
        return {"file": "_files", "dir": "_files -/", "run": runs}.get(value.kind, ":")

    return "\n".join(
        [
            "#compdef leadhand",
            '# Completion of leadhand for zsh. Load it in ~/.zshrc, after compinit: eval "$(leadhand completion zsh)"',
            "_leadhand() {",
            '    local current="${words[CURRENT]}" before="${words[CURRENT-1]}" command="${words[2]}"',
            "    local -a found",
            f"    if ((CURRENT == 2)); then {words(_first_words())}; return; fi",
            *_body(entries, words, take, second="((CURRENT == 3))", word='"${words[3]}"'),
            "}",
            "compdef _leadhand leadhand",
            "",
        ]
    )


def _body(entries: Sequence[_Entry], words: _Words, take: _Take, *, second: str, word: str) -> Iterator[str]:
    """The part of a function that bash and zsh have in common; ``second``: the second word is completed."""
    yield '    case "$command" in'
    for group in GROUPS:
        first = f"if {second}; then {words(_of_group(group))}; return; fi"
        yield _arm([group], f'{first}; command="$command "{word}')
    yield "    esac"
    yield '    case "$command $before" in'
    for value, patterns in _by_value(entries).items():
        yield _arm(patterns, f"{take(value)}; return")
    yield "    esac"
    yield '    if [[ "$current" == -* ]]; then'
    yield '        case "$command" in'
    for each in entries:
        yield "    " + _arm([each.words], words({flag: text for flag, (text, _) in each.flags.items()}))
    yield "        esac"
    yield "        return"
    yield "    fi"
    yield '    case "$command" in'
    for value, patterns in _arguments(entries).items():
        yield _arm(patterns, take(value))
    yield "    esac"


# --- fish ------------------------------------------------------------------------------------------------------------

_FISH = """\
# Completion of leadhand for fish. Save it: leadhand completion fish > ~/.config/fish/completions/leadhand.fish
function __leadhand_is
    set -l words (commandline -opc)
    set -e words[1]
    test (count $words) -ge (count $argv); or return 1
    test "$words[1..(count $argv)]" = "$argv"
end
function __leadhand_has
    test (count (commandline -opc)) -eq $argv[1]
end
complete -c leadhand -f
"""


def _fish(entries: Sequence[_Entry]) -> str:
    def take(value: _Value) -> str:
        if value.choices:
            return f"-x -a {_quoted(' '.join(value.choices))}"
        runs = f"-x -a '({_LIST_RUNS})'"
        return {"file": "-r -F", "dir": "-x -a '(__fish_complete_directories)'", "run": runs}.get(value.kind, "-x")

    def lines() -> Iterator[str]:
        for word, text in _first_words().items():
            if not word.startswith("-"):
                yield f"complete -c leadhand -n '__leadhand_has 1' -a {word} -d {_quoted(text)}"
        for group in GROUPS:
            for word, text in _of_group(group).items():
                at = f"__leadhand_is {group}; and __leadhand_has 2"
                yield f"complete -c leadhand -n '{at}' -a {word} -d {_quoted(text)}"
        for each in entries:
            at = f"complete -c leadhand -n '__leadhand_is {each.words}'"
            for flag, (text, value) in each.flags.items():
                taken = f" {take(value)}" if value is not None else ""
                yield f"{at} -l {flag.removeprefix('--')}{taken} -d {_quoted(text)}"
            if each.argument != _Value(""):
                yield f"{at} {take(each.argument).removeprefix('-x ').removeprefix('-r ')}"

    return _FISH + "\n".join(lines()) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
