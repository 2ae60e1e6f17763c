"""Citations in a text, in every usual notation, and the list of sources that a model adds by itself."""

from __future__ import annotations

import re

from .text import late_pattern

_SOURCE = r"(?:sources?|refs?|references?|quellen?|fuentes?|fonti|fonte|bron|bronnen)\b\.?:?"
_BEFORE = (
    r"(?:(?:see(?:\s+also)?|siehe|vgl|voir|cf|sources?|src|refs?|references?|cite[ds]?|citations?|(?:foot)?notes?|docs?|"
    r"documents?|results?|web|items?|ids?|no|nr|quellen?|fuentes?|font[ei]|bron(?:nen)?|źródł[^\W\d_]+|источник[^\W\d_]*|"
    r"来源|出典|출처)(?![^\W\d_])[.:\s-]*+|[#^†*_\u200b-\u200d\s])*"
)
"""What stands before a number: [see source no. 9], [web:9], [#9], [**9**]; not [-9] and [:9], which code has."""
_PLACE = (
    r"(?:\s*(?:[,;†]|:(?!\d))\s*(?:(?:pp?|pages?|ss?|seiten?|par[as]*|§+|ch|sec|l|lines?)\.?\s*)?[\dL][\d\sL–-]*"
    r"|[\s.*_]*)"
)
"""Where in a source: [9, p. 3], [9: 12-14]."""
_NUMBERS = rf"\d{{1,5}}(?:\s*(?:[,;&|–—-]|\.{{3}}|…|and|und|et|to){_BEFORE}\d{{1,5}})*"
CITATION = late_pattern(
    r"(?=[\[\uff3b\u3014【⟦(<⁰¹²³⁴⁵⁶⁷⁸⁹])(?:"  # what each begins with: most places of a text need no other look
    rf"[\[\uff3b\u3014⟦](?:s(?=\d))?{_BEFORE}(?P<a>{_NUMBERS}){_PLACE}\\?[\]\uff3d\u3015⟧]"  # [1] [1, 9] [1-9] [^9]
    rf"|【{_BEFORE}(?P<b>{_NUMBERS})[^】]{{0,200}}】"  # 【9】 【9†page】
    rf"|\((?:see|cf\.?|siehe|vgl\.?|voir)?\s*{_SOURCE}{_BEFORE}(?P<c>{_NUMBERS})\s*\)"  # (source 9)
    r"|(?<!\b10)(?<!\b[mx])(?<![kcm]m)"  # not 10 to the 9th
    rf"<(?:sup|cite|ref)>\s*\[?(?P<d>{_NUMBERS})\]?\s*</(?:sup|cite|ref)>"
    r"|(?:(?<=[\s.,;:!?)\]”\"’])|(?<=[^\W\d_]{4}))(?P<e>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})(?!\w))",  # a word⁹, not km²
    re.IGNORECASE,
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_WORD_JOINER = "\u2060"
_LONGEST_RANGE = 1_000
_HEADING = late_pattern(
    r"(?:[#>*_(\s-]|<\w+>)*(?:sources?|references?|citations?|bibliograph\w+|works cited|further reading|footnotes|"
    r"quellen?(?:angaben)?|références|fuentes?|font[ei]|bron(?:nen)?|źródł[oa]|источники?|出典|来源)(?:\s(?:used|cited|list))?"
    r"(?:\s\(\d+\))?(?:[*_\s]|</\w+>)*(?P<colon>[:\uff1a—–])?(?:[*_\s]|</\w+>)*(?P<rest>.*)",
    re.IGNORECASE,
)
_NONE = late_pattern(
    r"\W*(?:none|n/?a|nothing|keine|aucune|ninguna|nessuna|geen)"
    r"(?: (?:were |was )?(?:used|cited|given|available|found))?\W*",
    re.IGNORECASE,
)
_UNDERLINE = late_pattern(r"\s*[=-]{3,}\s*")
_DEFINITION = late_pattern(r"\s*\[\^?\d{1,5}\]:\s.*")
"""What a mark stands for, in Markdown: [^1]: Le Monde."""
_LISTED = late_pattern(r"(?:[-*•]|\(?\d{1,3}[.)])\s+")
_ITEM = late_pattern(r"https?://|www\.|^\s*[-*]?\s*(?:\[\^?\d+\]|【\d+】)", re.IGNORECASE)


def cited(text: str) -> set[int]:
    """The numbers of the sources that a text cites."""
    found: set[int] = set()
    for group in CITATION.finditer(text):
        numbers = next(part for part in group.groups() if part is not None).translate(_RAISED)
        for part in re.split(r"[,;&|]|and|und|et", numbers, flags=re.IGNORECASE):
            ends = [int(number) for number in re.findall(r"\d+", part)]
            short = len(ends) == 2 and 0 < ends[1] - ends[0] < _LONGEST_RANGE
            found.update(range(ends[0], ends[1] + 1) if short else ends)
    return found


def as_data(text: str) -> str:
    """A text in which nothing is a citation: a bracketed number of a tool's (``argv[1]``) must not become one.

    It looks the same to people: an invisible word joiner (U+2060) follows the bracket, or precedes a raised number.
    """
    return CITATION.sub(
        lambda found: f"{_WORD_JOINER}{found[0]}" if found["e"] else f"{found[0][0]}{_WORD_JOINER}{found[0][1:]}", text
    )


def named_sources(text: str) -> list[str]:
    """What a text gives as its sources in words, below a heading or after a colon; figures make it something else."""
    found: list[str] = []
    lines = [line for line in text.split("\n") if line.strip() and not _UNDERLINE.fullmatch(line)]
    end = 0
    for at, line in enumerate(lines, start=1):
        heading = _HEADING.fullmatch(line)
        if heading is None:
            continue
        if heading["colon"] and heading["rest"]:
            found.append(heading["rest"])
        elif not heading["rest"] and at > end:  # an item of a list does not begin another list
            end = at
            while end < len(lines) and _LISTED.match(lines[end].strip()):
                end += 1
            first = lines[at].strip() if at < len(lines) else "."
            if end > at:
                found += [_LISTED.sub("", item.strip()) for item in lines[at:end]]
            elif first[-1] not in ".!?" and (heading["colon"] or re.match(r"\s*(?:#|\*\*|__)", line)):
                found.append(first)
    return [each for each in found if not re.search(r"\d", each) and not _NONE.fullmatch(each)]


def without_own_sources(text: str) -> str:
    """The text without lists of sources that its author added: the run's own list, from the log, is printed below."""
    kept: list[str] = []
    lines = text.split("\n")
    end = 0
    for at, line in enumerate(lines, start=1):
        if at <= end or _DEFINITION.fullmatch(line):
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None and (not heading["rest"] or (heading["colon"] and _ITEM.search(heading["rest"]))):
            below = at
            while below < len(lines) and (not lines[below].strip() or _ITEM.search(lines[below])):
                below += 1
            if heading["rest"] or any(_ITEM.search(item) for item in lines[at:below]):
                end = below
                continue
        kept.append(line)
    return "\n".join(kept).strip() if len(kept) < len(lines) else text
