"""The exact checks of an answer: what code can tell without knowing the language of a text.

An id that is cited exists and was shown to the writer; a quotation of five words or more is in what it cites; an
address that is given for a citation is that of a source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping

from leadhand.core.work_result import Claim

FEWEST_WORDS = 5
"""Words from which on a quotation has to be in what it cites."""
_QUOTED = re.compile(
    '“([^“”]+)”|„([^„“”"]+)[“”"]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』|(?<!\\w)"([^"\\n]+)"(?!\\w)'
)
_URL = r"https?://(?:[^\s<>\"'`()\[\]]|\([^\s()]*\))+"
_GIVEN = re.compile(rf"[\[【]\^?(?:p\s?)?\d{{1,4}}[\]】](?::\s*<?|[ \t]+<?|\()(?P<url>{_URL})", re.IGNORECASE)
_LEFT_OUT = re.compile(r"\[?(?:…|\.\.\.)\]?")
_ALIKE = str.maketrans('’\u2018“”„«»"–—', "''''''''--", "\u00ad")


def problems_of(claim: Claim, citable: Mapping[str, str | None], addresses: Collection[str]) -> list[str]:
    """Return what the exact checks find in a claim, a sentence each.

    ``citable`` are the texts that the writer was shown, by the id that cites them (None: not known here), ``addresses``
    those of the sources.
    """
    found = [f"It cites [{each}], which does not exist." for each in claim.cites if each not in citable]
    cited = [citable[each] for each in claim.cites if each in citable]
    texts = [each for each in cited if each is not None]
    quotations = (next(filter(None, match.groups())) for match in _QUOTED.finditer(claim.text))
    quoted = (part.strip() for each in quotations for part in _LEFT_OUT.split(each))
    long = [each for each in quoted if len(each.split()) >= FEWEST_WORDS]
    if long and texts and len(texts) == len(cited):
        texts = [*map(plain, texts)]
        absent = (words for words in long if not any(plain(words).strip(" .,;:!?") in text for text in texts))
        found += [f"The words “{words}” are not in what it cites." for words in absent]
    given = (match["url"].rstrip(".,;:!?/") for match in _GIVEN.finditer(claim.text))
    known = {each.rstrip("/") for each in addresses}
    return found + [f"{url} is not the address of a source." for url in given if url not in known]


def plain(text: str) -> str:
    """Return a text in which only letters, digits and marks tell, not their Unicode form, case or white space: who
    quotes the beginning of a sentence within a sentence writes it in lower case."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_ALIKE).casefold().split())
