"""Plain-text replies: the study's table G1-G12 under our rules, and what else people write."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from questions.schema import parse_answers
from questions.surfaces.text import read


@dataclass(frozen=True)
class Asked:
    key: str
    labels: list[str] = field(default_factory=list)
    multi_select: bool = False
    full_header: str = ""
    text: str = "?"


TARGET = Asked("target", ["Staging (Recommended)", "Production"], full_header="Target", text="Where should I deploy?")
EXTRAS = Asked("extras", ["Staging", "Production"], multi_select=True)
COMMA = Asked("comma", ["A, B", "C"], multi_select=True)
CITY = Asked("destination", ["Lisbon", "Paris"], full_header="City", text="Where to: coast or hills?")
BUDGET = Asked("budget", ["1000", "2000"], full_header="Budget - all in", text="How much?")
Q1, Q2 = Asked("q1", ["alpha", "omega"]), Asked("q2", ["beta", "real"])
DIGITS = Asked("digits", ["3", "2", "1"])
DELETE = Asked("delete", ["Delete (dry run)", "Keep（推荐）"])


@pytest.mark.parametrize(
    ("question", "text", "values"),
    [
        (TARGET, "1", ["Staging (Recommended)"]),  # G1
        (TARGET, " 2 ", ["Production"]),
        (TARGET, "２", ["Production"]),
        (TARGET, "production", ["Production"]),  # G2
        (TARGET, "PRODUCTION\r\n", ["Production"]),
        (TARGET, "staging (recommended)", ["Staging (Recommended)"]),
        (TARGET, "Staging", ["Staging (Recommended)"]),
        (TARGET, "3", ["3"]),  # G3
        (TARGET, "0", ["0"]),
        (TARGET, "-1", ["-1"]),
        (TARGET, "1.5", ["1.5"]),
        (TARGET, "neither, wait", ["neither, wait"]),
        (TARGET, "target: production", ["target: production"]),
        (TARGET, "two\nlines", ["two\nlines"]),
        (DELETE, "delete", ["delete"]),  # what stands in brackets makes another choice of it
        (DELETE, "keep", ["Keep（推荐）"]),
        (DIGITS, "1", ["1"]),  # a label that is a number means itself
        (EXTRAS, "1,2", ["Staging", "Production"]),  # G5
        (EXTRAS, "2; 1 ; custom", ["Staging", "Production", "custom"]),
        (EXTRAS, "1\n2", ["Staging", "Production"]),
        (EXTRAS, "1, 1", ["Staging"]),
        (EXTRAS, "production，staging", ["Staging", "Production"]),
        (EXTRAS, "custom, , other", ["custom", "other"]),
        (COMMA, "a, b", ["A, B"]),  # G6
        (COMMA, "a, b; c", ["C", "a", "b"]),
    ],
)
def test_one_question(question: Asked, text: str, values: list[str]) -> None:
    reply = read([question], text)
    assert reply.answers == {question.key: values}
    assert reply.complete


@pytest.mark.parametrize("text", ["", "  \n ", "\u200b"])
def test_nothing_is_no_answer(text: str) -> None:
    assert not read([TARGET], text).complete
    assert read([TARGET], text).missing == ["target"]


@pytest.mark.parametrize(
    ("questions", "text", "answers"),
    [
        ([CITY, BUDGET], "1: Lisbon\n2: 2000", [["Lisbon"], ["2000"]]),  # G7
        ([CITY, BUDGET], "2: 2000\n1: Lisbon", [["Lisbon"], ["2000"]]),
        ([CITY, BUDGET], "1. Lisbon\n2) 2", [["Lisbon"], ["2000"]]),
        ([Q1, Q2], "q1 = alpha\nq2 - beta", [["alpha"], ["beta"]]),  # G8
        ([CITY, BUDGET], "budget: high\nDestination = Rome", [["Rome"], ["high"]]),
        ([CITY, BUDGET], "city: 1\nBudget - all in: 1", [["Lisbon"], ["1000"]]),
        ([CITY, BUDGET], "Where to: coast or hills?: paris\nhow much? = 2000", [["Paris"], ["2000"]]),
        ([Q1, Q2], "alpha\nbeta", [["alpha"], ["beta"]]),  # G9
        ([CITY, BUDGET], "Lisbon\n1", [["Lisbon"], ["1000"]]),
        ([CITY, BUDGET], "Lisbon\n\n1\n", [["Lisbon"], ["1000"]]),
        ([Q1, Q2], "14:30\nq2: real", [["14:30"], ["real"]]),  # G10
        ([Q1, Q2], "1:30\nq2: real", [["1:30"], ["real"]]),
        ([Q1, Q2], "q1: see https://e.com/p\nq2: real", [["see https://e.com/p"], ["real"]]),  # G11
        ([CITY, BUDGET], "2: 1\nParis", [["Paris"], ["1000"]]),  # the quirk of study 10, mended
        ([CITY, EXTRAS], "extras: 1\nParis\nextras: own", [["Paris"], ["Staging", "own"]]),
        ([CITY, EXTRAS], "Paris\n1, 2", [["Paris"], ["Staging", "Production"]]),
    ],
)
def test_several_questions(questions: list[Asked], text: str, answers: list[list[str]]) -> None:
    reply = read(questions, text)
    assert [reply.answers[question.key] for question in questions] == answers
    assert reply.complete


@pytest.mark.parametrize(
    ("text", "missing", "surplus"),
    [
        ("Lisbon", ["budget"], []),  # G12
        ("budget: 1", ["destination"], []),
        ("1: Lisbon\n2:", ["budget"], []),
        ("Lisbon\n1\nand quickly", [], ["and quickly"]),
        ("1: Lisbon\n1: Paris\n2: 1", [], ["1: Paris"]),
        ("1: Lisbon\n2: 1\nthank you", [], ["thank you"]),
        ("", ["destination", "budget"], []),
    ],
)
def test_what_is_not_certain_is_no_answer(text: str, missing: list[str], surplus: list[str]) -> None:
    reply = read([CITY, BUDGET], text)
    assert not reply.complete
    assert (reply.missing, reply.surplus) == (missing, surplus)


def test_a_name_that_two_questions_have_names_neither() -> None:
    twins = [Asked("a", ["x"], full_header="Same"), Asked("b", ["x"], full_header="same")]
    assert read(twins, "same: x\nb: x").answers == {"a": ["same: x"], "b": ["x"]}


PROMPTS = st.lists(
    st.sampled_from([TARGET, EXTRAS, COMMA, CITY, BUDGET]), min_size=1, max_size=3, unique_by=lambda one: one.key
)


@given(PROMPTS, st.text())
def test_whatever_is_understood_is_an_answer(questions: list[Asked], text: str) -> None:
    reply = read(questions, text)
    if reply.complete and "\x00" not in text:
        assert parse_answers(questions, reply.answers) == reply.answers
