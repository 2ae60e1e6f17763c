"""The exact checks: ids, quotations and addresses. What words a text has does not matter to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.work_result import Claim
from leadhand.verify.claims import claims_of
from leadhand.verify.exact import plain, problems_of

from .runs import play
from .scenes import HONEST, INCOMPLETE, SCENES
from .small import sampled
from .texts import CITATIONS, QUOTATIONS, documents, reworded

PASSAGE = "The operator now replaces the spokes every 4,000 kilometres. Ein “Dreirad” kostet 7.400 Euro, immer noch."
ADDRESSES = {"https://a.example/x_(y)", "https://b.example/"}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("It does [1].", 0),
        ("It does [2].", 1),
        ("It does [1, 2, 3].", 2),
        ("“replaces the spokes every 4,000 kilometres” [1]", 0),
        ("“The operator now REPLACES  the\u00a0spokes.” [1]", 0),
        ("“replaces the spokes … every 4,000 kilometres” [1]", 0),
        ("“The operator now replaces the [...] every single time you like” [1]", 1),
        ("“replaces the spokes every 40 kilometres” [1]", 1),
        ("“replaces the tyres often” [1]", 0),  # four words: a hint for the judge
        ("“replaces the spokes every 40 kilometres” without a citation", 0),
        ("„ein 'Dreirad' kostet 7.400 Euro“ [1]", 0),
        ("„Ein Dreirad kostet 4.700 Euro, immer noch.“ [1]", 1),
        ("»ein Dreirad kostet nur sieben Euro« [1]", 1),
        ("[1](https://a.example/x_(y)) and [1]: https://b.example", 0),
        ("[1](https://c.example), [1] https://a.example/x", 2),
        ("See https://c.example, which it does not give as a source", 0),
    ],
)
def test_ids_quotations_and_addresses_are_checked(text: str, problems: int) -> None:
    claim = Claim(n=1, text=text, cites=claims_of(text)[0].cites)
    assert len(problems_of(claim, {"1": PASSAGE}, ADDRESSES)) == problems


def test_a_quotation_of_what_the_log_only_refers_to_is_not_refused() -> None:
    claim = Claim(n=1, text="“replaces the spokes every 40 kilometres” [1]", cites=("1",))
    assert problems_of(claim, {"1": None}, ()) == []


# --- words do not matter ---------------------------------------------------------------------------------------------

ids = [each for ids in CITATIONS.values() for each in ids]
citable = st.dictionaries(st.sampled_from(ids), st.sampled_from([*QUOTATIONS, *map(plain, QUOTATIONS), None, ""]))
addresses = st.sets(st.sampled_from(["https://example.org/1", "https://example.org/2"]))


def checks(text: str, texts: Mapping[str, str | None], known: set[str]) -> list[tuple[tuple[str, ...], list[str]]]:
    return [(each.cites, problems_of(each, texts, known)) for each in claims_of(text)]


@given(documents, citable, addresses, st.sampled_from(["blorp", "Ωmega", "不", "جديد"]))
def test_no_word_outside_of_quotations_changes_an_exact_check(
    text: str, texts: dict[str, str | None], known: set[str], word: str
) -> None:
    changed = reworded(text, word)
    assert checks(changed, texts, known) == checks(text, texts, known)


WRONG = "\n\nSo it is [99].\n\nSome say “these six words are not anywhere” [1].\n\nSee [1](https://wrong.example/page)."


@pytest.mark.parametrize("name", sampled([*HONEST, *INCOMPLETE], 3))
async def test_no_word_of_an_answer_changes_its_status_or_its_exact_checks(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]
    assert reworded(scene.text) != scene.text or name == "translation", "the translation is all quotation"
    played = await play(scene, tmp_path, text=reworded(scene.text + WRONG), check="exact")
    assert played.answer.status.value == scene.status
    assert played.answer.text == scene.delivered(played.text)
    assert played.asked == []
    direct = [each.worker for each in played.requests] == ["plan"]
    found = {each["claim"].split()[-1] for each in played.evidence["doubts"]}
    assert found == (set() if direct else {"[99].", "[1].", "[1](https://wrong.example/page)."})
