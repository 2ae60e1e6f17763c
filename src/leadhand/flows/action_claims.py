"""Find actions that a text claims, such as "I have emailed Bob", and that no result shows.

The words are English. A claim in another language, or with another verb, is not found.
"""

from __future__ import annotations

import re

_ACTIONS = {
    r"e-?mailed|messaged|notified|sent": r"mail|messag|notif|sen[dt]|deliver",
    r"paid|transferred|refunded": r"paid|pay|transfer|refund",
    r"booked|reserved": r"book|reserv",
    r"bought|purchased": r"bought|buy|purchas|order",
    r"deleted": r"delet|remov|eras",
    r"cancell?ed": r"cancel",
    r"deployed|uploaded|installed": r"deploy|upload|install",
}
"""Verbs that claim an action, with the beginnings of the words by which a result or the name of its tool shows it."""
_SURE = r"(?:\s+(?:also|already|just|now|then|successfully))*"
_CLAIMS = [
    (
        re.compile(rf"\b(?:(?:I|[Ww]e)(?:['’]ve|\s+have)?|(?:has|have)\s+been){_SURE}\s+(?:{said})\b"),
        re.compile(rf"(?<![^\W_])(?:{shown})"),
    )
    for said, shown in _ACTIONS.items()
]


def unshown_actions(text: str, shown: str) -> list[str]:
    """Return the claims of ``text`` that an action was carried out, without those of which ``shown`` has a word."""
    shown = shown.casefold()
    return [claim[0] for said, word in _CLAIMS if (claim := said.search(text)) and not word.search(shown)]
