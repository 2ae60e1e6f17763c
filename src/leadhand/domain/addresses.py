"""Web and e-mail addresses in prose: where one is, and when two are the same."""

from __future__ import annotations

import re

from .text import late_pattern

_ENDINGS = (
    "ai|app|at|au|be|biz|br|ca|ch|cn|co|de|dev|es|eu|fi|fr|ie|in|io|it|jp|me|nl|no|nz|pl|pt|se|shop|site|travel|uk|us"
)
"""Endings of domains that are words, too, so that a path must follow."""
URL = late_pattern(
    r"(?:(?<![a-z])[a-z][a-z\d+.-]{1,15}://|(?<=\]\()(?!mailto:|tel:)[a-z]{2,15}:|www\.)[^\s<>\"'`|\]】]+"
    r"|(?<![\w.+-])[\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)+"  # an e-mail address
    r"|(?<![\w.@/-])(?:[a-z0-9][a-z0-9-]*\.)+"
    rf"(?:(?:com|org|net|edu|gov|info|example)\b(?:/[^\s<>\"'`|\]】]*)?|(?:{_ENDINGS})/[^\s<>\"'`|\]】]*)",
    re.IGNORECASE,
)
"""A web address, with or without a scheme, or an e-mail address."""


def trimmed(url: str) -> str:
    """An address as it was found, without the punctuation of the sentence around it."""
    url = url.rstrip(".,;:!?*_»”’")
    return url.rstrip(")") if url.count(")") > url.count("(") else url


def plain_address(url: str) -> str:
    """What two ways of writing one address share: no http, www, fragment, last slash or capitals."""
    plain = re.sub(r"^(?:https?://)?(?:www\.)?", "", trimmed(url).casefold())
    return plain.partition("#")[0].rstrip("/\\")
