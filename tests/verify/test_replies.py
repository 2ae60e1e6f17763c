"""What a reply of a judge is worth, and how claims and evidence are divided into requests."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.value import texts_in
from leadhand.core.work_result import DOUBTED, ClaimVerdict, Doubt
from leadhand.flows.facts import tokens
from leadhand.flows.judging import MOST_CLAIMS, Entry, calls_shown, judgement_of, keys_of, shards_of
from leadhand.verify.claims import claims_of
from leadhand.verify.exact import plain
from leadhand.verify.judge import Findings, MissingPart, checked_reply, cut_to_part, judge_facts, merged
from leadhand.verify.material import Material

from .texts import documents, sentences

V = ClaimVerdict
TEXT = "The X200 costs €104.50. It is in stock [1].\n\n- Köln: 40\n- München: 25 [1]\n\nI have ordered twelve."
CLAIMS = claims_of(TEXT)
EVIDENCE: dict[str, Any] = {
    "wo-001.0": {"returned": {"price_eur": 104.5, "name": "Kyocera PA2001w", "tags": ["new", "best seller"]}},
    "wo-001.1": {"returned": {"stock": {"Köln": 40, "München": 25}}, "written": "Forty in Köln."},
}
REQUEST = "What does the X200 cost, and where is it in stock?"

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)
numbers = st.integers(0, len(CLAIMS) + 1)
verdicts = st.sampled_from([*map(str, V), "false", "CONFIRMED"]) | anything
parts = st.sampled_from(["costs €104.50", "KÖLN:  40", "I have ordered twelve", "nowhere", "", " "]) | anything
quotes = st.sampled_from(['"price_eur":104.5', "best seller", "Köln", "forty in köln.", "nowhere", ""]) | anything
doubt = st.fixed_dictionaries(
    {"claim": numbers | anything},
    optional={
        "part": parts,
        "why": st.text(max_size=9) | anything,
        "evidence": st.sampled_from([*EVIDENCE, "wo-009.9"]) | anything,
        "quote": quotes,
        "action": st.booleans() | anything,
    },
)
missing = st.fixed_dictionaries(
    {}, optional={"part": st.just("more") | anything, "request": st.sampled_from(["where is it", ""]) | anything}
)
replies = anything | st.fixed_dictionaries(
    {"verdicts": st.dictionaries(numbers.map(str), verdicts) | anything},
    optional={"doubts": st.lists(doubt | anything) | anything, "missing": st.lists(missing | anything) | anything},
)


def words(text: str) -> str:
    """The words and numbers of a text, without what stands between them."""
    found = re.findall(r"[^\W_]+", plain(text))
    return " ".join(["", *found, ""])


@given(replies)
def test_a_reply_counts_only_as_far_as_code_can_check_it(reply: Any) -> None:
    found = checked_reply(reply, CLAIMS, EVIDENCE, REQUEST)
    assert [*found.verdicts] == [each.n for each in CLAIMS]
    said = reply.get("verdicts") if isinstance(reply, dict) and isinstance(reply.get("verdicts"), dict) else {}
    doubted = {each.n: each for each in found.doubts}
    assert [*doubted] == [n for n, verdict in found.verdicts.items() if verdict in DOUBTED]
    for claim in CLAIMS:
        verdict, own = found.verdicts[claim.n], doubted.get(claim.n)
        given_ = said.get(str(claim.n))
        given_ = given_.strip().lower() if isinstance(given_, str) else given_
        if verdict is not V.UNCONFIRMED or given_ != "contradicted":
            assert verdict == (given_ if isinstance(given_, str) and given_ in [*V] else V.NOT_CHECKED)
        if own is None:
            continue
        assert words(own.part) in words(claim.text)
        assert own.verdict is verdict
        if own.quote is not None:
            facts = EVIDENCE[own.evidence or ""]
            shown = json.dumps(facts, ensure_ascii=False, separators=(",", ":")) + "\n".join(texts_in(facts))
            assert words(own.quote) in words(shown)
        if verdict is V.CONTRADICTED:
            reasons = [each for each in reply["doubts"] if isinstance(each, dict) and each.get("action")]
            assert own.quote is not None or reasons
    assert all(words(each.request) in words(REQUEST) for each in found.missing)


PROOF = {"claim": 1, "part": "costs €104.50", "why": "no", "evidence": "wo-001.0", "quote": '"price_eur":104.5'}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, V.CONTRADICTED),
        ({"part": "COSTS\n€104.50"}, V.CONTRADICTED),
        ({"quote": "“price_eur”:104.5"}, V.CONTRADICTED),
        ({"quote": "best  seller"}, V.CONTRADICTED),
        ({"quote": '"price_eur": 104.5'}, V.CONTRADICTED),
        ({"quote": "104.5"}, V.CONTRADICTED),
        ({"part": "**costs** €104.50"}, V.CONTRADICTED),
        ({"action": None}, V.CONTRADICTED),
        ({"part": "costs €104.5", "quote": "104.5"}, V.UNCONFIRMED),
        ({"part": "The X200", "quote": "best seller"}, V.CONTRADICTED),
        ({"quote": "104"}, V.UNCONFIRMED),
        ({"quote": "4.5"}, V.UNCONFIRMED),
        ({"quote": "e"}, V.UNCONFIRMED),
        ({"part": "costs €104.5"}, V.UNCONFIRMED),
        ({"quote": None, "action": True}, V.CONTRADICTED),
        ({"quote": "nowhere", "evidence": None, "action": True}, V.CONTRADICTED),
        ({"quote": None}, V.UNCONFIRMED),
        ({"quote": ""}, V.UNCONFIRMED),
        ({"quote": "null", "evidence": "wo-009.9"}, V.UNCONFIRMED),
        ({"quote": "104.50"}, V.UNCONFIRMED),
        ({"evidence": "wo-001.1"}, V.UNCONFIRMED),
        ({"evidence": None}, V.UNCONFIRMED),
        ({"part": "costs €99"}, V.UNCONFIRMED),
        ({"part": ""}, V.UNCONFIRMED),
        ({"part": "Köln: 40", "action": True}, V.UNCONFIRMED),
        ({"claim": 2}, V.UNCONFIRMED),
    ],
)
def test_a_contradiction_needs_words_of_the_claim_and_of_the_evidence(
    changed: dict[str, Any], verdict: ClaimVerdict
) -> None:
    reply = {"verdicts": {"1": "contradicted"}, "doubts": [{**PROOF, **changed}]}
    found = checked_reply(reply, CLAIMS, EVIDENCE, REQUEST)
    assert found.verdicts[1] is verdict
    (own,) = found.doubts
    assert (own.verdict, own.n) == (verdict, 1)
    if verdict is V.CONTRADICTED:
        assert own.quote == (reply["doubts"][0]["quote"] if own.evidence else None)


# --- requests --------------------------------------------------------------------------------------------------------

cells = st.dictionaries(st.sampled_from(["name", "ort", "価格"]), sentences | st.integers(0, 10**6), min_size=1)
evidence = st.lists(
    st.fixed_dictionaries({"name": sentences, "returned": st.lists(cells, max_size=12)}), max_size=6
).map(lambda facts: {f"wo-001.{n}": each for n, each in enumerate(facts)})


@given(st.lists(documents, min_size=1, max_size=2).map("\n\n".join), evidence, st.integers(200, 2_000), st.data())
def test_requests_cover_all_claims_and_all_evidence_within_the_room(
    text: str, facts: dict[str, Any], room: int, data: st.DataObject
) -> None:
    claims = {each.n: each for each in claims_of(text)}
    ids = sorted({id_ for each in claims.values() for id_ in each.cites})
    keys = {id_: (data.draw(st.sampled_from([*facts])),) for id_ in ids if facts and data.draw(st.booleans())}
    material = Material(evidence=facts, keys=keys)
    seen: dict[int, dict[str, list[str]]] = {n: {} for n in claims}
    for numbers, pieces in shards_of([*claims.values()], material, room):
        assert 0 < len(numbers) <= MOST_CLAIMS
        brief = judge_facts([claims[n] for n in numbers], pieces, material, "")
        shown = {key: cut_to_part(each) for key, each in brief["evidence"].items()}
        longest = max(tokens(each.text + each.header) for each in claims.values())
        assert (
            tokens(shown) + sum(tokens(claims[n].text) for n in numbers)
            <= max(room, longest + room // 2) * 4 // 3 + 400
        )
        for n in numbers:
            for key, each in shown.items():
                seen[n].setdefault(key, []).append(each["returned"] if "part" in each else json.dumps(each))
    for n, claim in claims.items():
        assert {*seen[n]} >= {*(material.cited(claim) or facts)}
        for key, texts in seen[n].items():
            for part in "\n".join(texts_in(facts[key])).split("\n"):
                assert any(part in text or json.dumps(part)[1:-1] in text for text in texts), "no datum is cut in two"


def test_a_quotation_that_agrees_with_the_words_of_the_claim_contradicts_nothing() -> None:
    claims = claims_of("There are 40 pieces in Köln.")
    evidence = {"a": {"returned": "Köln: 40 pieces in the hall, 9 on the way"}}
    for quote, verdict in (("40 pieces", V.UNCONFIRMED), ("9 on the way", V.CONTRADICTED)):
        doubt = {"claim": 1, "part": "40 pieces in Köln", "why": "", "evidence": "a", "quote": quote}
        found = checked_reply({"verdicts": {"1": "contradicted"}, "doubts": [doubt]}, claims, evidence, "")
        assert found.verdicts[1] is verdict


def test_a_number_with_another_decimal_mark_is_the_same_number() -> None:
    claims, evidence = claims_of("Die Brücke ist 7,6 m hoch."), {"a": {"returned": "height: 7.6 m, width: 7.7 m"}}
    for quote, verdict in (("7.6 m", V.UNCONFIRMED), ("7.7 m", V.CONTRADICTED)):
        doubt = {"claim": 1, "part": "7,6 m hoch", "why": "", "evidence": "a", "quote": quote}
        found = checked_reply({"verdicts": {"1": "contradicted"}, "doubts": [doubt]}, claims, evidence, "")
        assert found.verdicts[1] is verdict


def test_parts_of_a_piece_of_evidence_are_never_in_one_request() -> None:
    facts = {"returned": " ".join(map(str, range(400)))}
    shards = list(shards_of(claims_of("One."), Material(evidence={"a": facts, "b": {"returned": 1}}), 480))
    assert [[each.key for each in pieces] for _, pieces in shards] == [["a"], ["a"], ["b"]]
    briefs = (judge_facts([], pieces, Material(evidence={"a": facts}), "") for _, pieces in shards[:2])
    both = " ".join(cut_to_part(each["evidence"]["a"])["returned"] for each in briefs)
    assert all(str(n) in both.split() for n in range(1, 399))


def test_calls_that_do_not_fit_are_counted_by_tool() -> None:
    sent = [{"tool": "mail", "effect": "once", "ok": True, "args": {"n": n, "body": "x" * 90}} for n in range(50)]
    read = {"tool": "look", "effect": "pure", "ok": True}
    shown = calls_shown([read, *sent, read], 200)
    assert shown[:3] == sent[:3]
    times = {each["tool"]: each["times"] for each in shown if "times" in each}
    assert times["look"] == 2
    assert times["mail"] + sum("args" in each for each in shown) == 50
    assert tokens(shown) <= 200 + 60


# --- several requests ------------------------------------------------------------------------------------------------


def finding(*said: str, lacks: str = "") -> Findings:
    verdicts = {n: V(each) for n, each in enumerate(said, start=1)}
    doubted = [n for n, each in verdicts.items() if each in DOUBTED]
    doubts = [Doubt(n=n, claim="", part="", verdict=verdicts[n], why=str(said)) for n in doubted]
    parts = (MissingPart(part="more", request=lacks),) if lacks else ()
    return Findings(verdicts=verdicts, doubts=tuple(doubts), missing=parts)


@pytest.mark.parametrize(
    ("said", "whole"),
    [
        (["unconfirmed", "confirmed"], "confirmed"),
        (["unconfirmed", "derived", "contradicted"], "derived"),
        (["unconfirmed", "contradicted"], "contradicted"),
        (["unconfirmed", "own_words"], "own_words"),
        (["unconfirmed", "unconfirmed"], "unconfirmed"),
        (["unconfirmed", "not_checked"], "not_checked"),
        (["contradicted", "not_checked"], "contradicted"),
    ],
)
def test_of_several_verdicts_the_best_counts_and_unconfirmed_only_if_all_say_so(said: list[str], whole: str) -> None:
    for order in (said, said[::-1]):
        found = merged([finding(each) for each in order])
        assert found.verdicts == {1: V(whole)}
        assert [each.verdict for each in found.doubts] == ([V(whole)] if V(whole) in DOUBTED else [])


def test_a_part_is_missing_only_if_every_request_says_so() -> None:
    both = merged([finding("confirmed", lacks="where is it"), finding("confirmed", lacks="where is it in stock")])
    assert [each.request for each in both.missing] == ["where is it"]
    assert merged([finding("confirmed", lacks="where"), finding("confirmed")]).missing == ()
    assert merged([]).missing == ()


def test_the_same_words_at_two_places_are_judged_apart() -> None:
    claims = claims_of("## X100\n\n- Köln: 40\n\n## X200\n\n- Köln: 40")
    keys = keys_of(claims)
    assert len({*keys.values()}) == len(claims)
    twice = finding("own_words", "contradicted", "own_words", "confirmed")
    record = {keys[n]: Entry(verdict, twice.doubts if n == 2 else ()) for n, verdict in twice.verdicts.items()}
    found = judgement_of(claims, [record, record], "judge", Material())
    assert [each.verdict for each in found.claims] == [V.OWN_WORDS, V.CONTRADICTED, V.OWN_WORDS, V.CONFIRMED]
    assert [each.n for each in found.doubts] == [2]
    once = judgement_of(claims, [record], "judge", Material())
    assert once.claims[1].verdict is V.UNCONFIRMED
