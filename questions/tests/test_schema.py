"""The wire form of asks and answers: every rule as a row, and what holds for any input at all."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
import regex
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from questions import schema
from questions.schema import Faults, parse_answer, parse_answers, parse_ask, parse_skip

FAMILY = "👨‍👩‍👧‍👦"
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def question(**changes: Any) -> dict[str, Any]:
    """A question without fault, with changes; None leaves a field out."""
    whole = {
        "id": "choice",
        "header": "Choice",
        "question": "Which one?",
        "options": [{"label": "One"}, {"label": "Two"}],
        **changes,
    }
    return {key: value for key, value in whole.items() if value is not None}


def ask(**changes: Any) -> dict[str, Any]:
    """An ask without fault, with changes."""
    return {"questions": [question()], **changes}


def labelled(*labels: Any) -> dict[str, Any]:
    """An ask whose one question has these labels."""
    return ask(questions=[question(options=[{"label": label} for label in labels])])


def faults_of(data: object) -> list[tuple[str, str]]:
    """The (path, rule) of every fault of an ask."""
    with pytest.raises(Faults) as caught:
        parse_ask(data)
    return [(detail["path"], detail["rule"]) for detail in caught.value.details]


def test_it_reads_a_whole_ask() -> None:
    read = parse_ask(
        {
            "questions": [
                {
                    "id": "deploy_target",
                    "header": " Deployment target ",
                    "question": " Where should I deploy? ",
                    "options": [{"label": " Staging (Recommended) ", "description": "  "}, {"label": "Production"}],
                    "multiSelect": True,
                }
            ],
            "timeoutSeconds": 600,
            "maxTimeoutSeconds": 1200,
            "runId": "run-1",
            "sessionKey": " main/one:two ",
            "mode": "blocking",
            "id": "0123456789abcdef",
        }
    )
    assert read == schema.Ask(
        questions=(
            schema.AskQuestion(
                key="deploy_target",
                header="Deployment t",
                full_header="Deployment target",
                text="Where should I deploy?",
                options=(schema.AskOption("Staging (Recommended)"), schema.AskOption("Production")),
                multi_select=True,
            ),
        ),
        timeout_seconds=600,
        max_timeout_seconds=1200,
        run_id="run-1",
        session_key="main/one:two",
        client_id="0123456789abcdef",
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"questions": None}, [("questions", "type")]),
        ({"questions": {}}, [("questions", "type")]),
        ({"questions": []}, [("questions", "count")]),
        ({"questions": [question(id=f"q{n}") for n in range(4)]}, [("questions", "count")]),
        ({"questions": ["x"]}, [("questions[0]", "type")]),
        (
            {"questions": [{}]},
            [(f"questions[0].{key}", "required") for key in ("header", "id", "question", "options")],
        ),
        ({"questions": [question(), question()]}, [("questions[1].id", "duplicate_question_id")]),
        ({"questions": [question(isSecret=True)]}, [("questions[0].isSecret", "unknown_key")]),
        (
            {"questions": [question(isOther=True, x=1)]},
            [("questions[0].isOther", "unknown_key"), ("questions[0].x", "unknown_key")],
        ),
        ({"agentId": "x"}, [("agentId", "unknown_key")]),
        ({"runId": ""}, [("runId", "blank")]),
        ({"runId": 7}, [("runId", "type")]),
        ({"runId": "r" * 129}, [("runId", "length")]),
        ({"sessionKey": "  "}, [("sessionKey", "blank")]),
        ({"sessionKey": "a\nb"}, [("sessionKey", "control_character")]),
        ({"sessionKey": "k" * 201}, [("sessionKey", "length")]),
        ({"sessionKey": None}, [("sessionKey", "type")]),
        ({"mode": "later"}, [("mode", "choice")]),
        ({"mode": None}, [("mode", "choice")]),
        (
            {"mode": "async", "timeoutSeconds": 60, "maxTimeoutSeconds": 90},
            [("maxTimeoutSeconds", "not_with_async"), ("timeoutSeconds", "not_with_async")],
        ),
        ({"id": "short"}, [("id", "pattern")]),
        ({"id": "x" * 129}, [("id", "pattern")]),
        ({"id": "0123456789abcdef\n"}, [("id", "pattern")]),
        ({"id": "0123456789abcdé!"}, [("id", "pattern")]),
        ({"id": 12}, [("id", "type")]),
    ],
)  # fmt: skip
def test_an_ask_breaks_a_rule(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert sorted(faults_of(ask(**changes))) == sorted(expected)


@pytest.mark.parametrize("body", [None, [], "x", 7, True])
def test_a_body_is_an_object(body: object) -> None:
    assert faults_of(body) == [("", "type")]


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        *[("id", bad, "pattern") for bad in ("Deploy Target", "a-b", "1a", "_a", "", "a\n", " a", "é", "A")],
        ("id", "a" * 65, "length"),
        ("id", 5, "type"),
        ("header", "   ", "blank"),
        ("header", "", "blank"),
        ("header", "\u200b" * 12, "blank"),
        ("header", 5, "type"),
        ("header", "a\x00b", "character"),
        ("question", " \t\n", "blank"),
        ("question", ZERO_WIDTH, "blank"),
        ("question", "q" * 2001, "length"),
        ("question", "a\ud800", "character"),
        ("question", ["x"], "type"),
        ("options", {"label": "One"}, "type"),
        ("options", [], "count"),
        ("options", [{"label": "One"}], "count"),
        ("options", [{"label": str(n)} for n in range(5)], "count"),
        ("multiSelect", "true", "type"),
        ("multiSelect", 1, "type"),
    ],
)
def test_a_question_breaks_a_rule(field: str, value: Any, rule: str) -> None:
    assert faults_of(ask(questions=[question() | {field: value}])) == [(f"questions[0].{field}", rule)]


@pytest.mark.parametrize(
    ("option", "path", "rule"),
    [
        ("Three", "", "type"),
        ({}, ".label", "required"),
        ({"label": None}, ".label", "type"),
        ({"label": "  "}, ".label", "blank"),
        ({"label": ZERO_WIDTH}, ".label", "blank"),
        ({"label": "\u3164\u2800"}, ".label", "blank"),
        ({"label": "x" * 65}, ".label", "length"),
        ({"label": "x\x00"}, ".label", "character"),
        ({"label": "x\udfff"}, ".label", "character"),
        ({"label": "Three", "value": 3}, ".value", "unknown_key"),
        ({"label": "Three", "description": 3}, ".description", "type"),
        ({"label": "Three", "description": None}, ".description", "type"),
        ({"label": "Three", "description": "d" * 501}, ".description", "length"),
        ({"label": "Three", "description": "d\x00"}, ".description", "character"),
    ],
)
def test_an_option_breaks_a_rule(option: Any, path: str, rule: str) -> None:
    options = [{"label": "One"}, {"label": "Two"}, option]
    assert faults_of(ask(questions=[question(options=options)])) == [(f"questions[0].options[2]{path}", rule)]


def test_every_fault_is_told_at_once() -> None:
    body = {
        "questions": [
            question(id="Bad Id", header=" "),
            question(id="b", options=[{"label": "Yes"}, {"label": "yes "}, {"label": "Other…"}]),
        ],
        "timeoutSeconds": "60",
        "mode": "never",
        "extra": 1,
    }
    assert set(faults_of(body)) == {
        ("questions[0].id", "pattern"),
        ("questions[0].header", "blank"),
        ("questions[1].options[1].label", "duplicate_option_label"),
        ("questions[1].options[2].label", "reserved_option_label"),
        ("timeoutSeconds", "type"),
        ("mode", "choice"),
        ("extra", "unknown_key"),
    }


def test_a_fault_tells_limit_and_length() -> None:
    with pytest.raises(Faults) as caught:
        parse_ask(labelled("x" * 70, "Two"))
    assert caught.value.details == [
        {
            "path": "questions[0].options[0].label",
            "rule": "length",
            "message": "This text has at most 64 characters.",
            "limit": 64,
            "length": 70,
        }
    ]


def test_the_faults_of_a_hostile_body_are_bounded_and_writable() -> None:
    body = {"questions": [{}] * 20_000, **{f"\ud800{'k' * 500}{n}": n for n in range(200)}}
    with pytest.raises(Faults) as caught:
        parse_ask(body)
    assert len(caught.value.details) == 100
    assert json.dumps(caught.value.details, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("given_seconds", "expected"),
    [(5, 30), (-1, 30), (0, 30), (30, 30), (31, 31), (3600, 3600), (9999, 3600), (10**40, 3600)],
)
def test_a_timeout_is_clamped(given_seconds: int, expected: int) -> None:
    assert parse_ask(ask(timeoutSeconds=given_seconds)).timeout_seconds == expected


def test_a_timeout_is_900_by_default() -> None:
    assert parse_ask(ask()).timeout_seconds == 900
    assert parse_ask(ask()).max_timeout_seconds is None


@pytest.mark.parametrize("value", [30.5, 60.0, "60", True, False, None, [], {}])
@pytest.mark.parametrize("key", ["timeoutSeconds", "maxTimeoutSeconds"])
def test_a_timeout_is_a_whole_number(key: str, value: Any) -> None:
    assert faults_of(ask(**{key: value})) == [(key, "type")]


@pytest.mark.parametrize(
    ("seconds", "longest", "expected"),
    [(60, 60, 60), (5, 30, 30), (5, 7, 30), (60, 10**9, 86_400), (3600, 86_400, 86_400), (9999, 3600, 3600)],
)
def test_the_longest_timeout_is_clamped(seconds: int, longest: int, expected: int) -> None:
    assert parse_ask(ask(timeoutSeconds=seconds, maxTimeoutSeconds=longest)).max_timeout_seconds == expected


@pytest.mark.parametrize("body", [{"timeoutSeconds": 61, "maxTimeoutSeconds": 60}, {"maxTimeoutSeconds": 899}])
def test_the_longest_timeout_is_not_less_than_the_timeout(body: dict[str, int]) -> None:
    assert faults_of(ask(**body)) == [("maxTimeoutSeconds", "less_than_timeout")]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Deployment target", "Deployment t"),
        ("exactly12chr", "exactly12chr"),
        ("  Deploy  ", "Deploy"),
        ("🇩🇪🇫🇷🇮🇹🇪🇸🇵🇹🇳🇱🇧🇪🇱🇺🇦🇹🇨🇭🇸🇪🇳🇴🇫🇮", "🇩🇪🇫🇷🇮🇹🇪🇸🇵🇹🇳🇱🇧🇪🇱🇺🇦🇹🇨🇭🇸🇪🇳🇴"),
        (FAMILY * 13, FAMILY * 12),
        ("e\u0301" * 13, "e\u0301" * 12),
        ("\u200b" * 12 + "Deploy", "Deploy"),
        ("abc\u200d", "abc"),
        (ENGLAND * 13, ENGLAND * 12),
        ("a" + "\u0301" * 1000, "a" + "\u0301" * 399),
        ("नमस्ते दुनिया कैसे हो", None),
        ("x" * 200_000, "x" * 12),
    ],
)
def test_a_header_is_cut_by_what_people_count(header: str, expected: str | None) -> None:
    read = parse_ask(ask(questions=[question(header=header)])).questions[0]
    assert read.full_header == header.strip()
    assert len(regex.findall(r"\X", read.header)) <= 12
    if expected is not None:
        assert read.header == expected


@pytest.mark.parametrize(
    "labels",
    [
        ("Yes", "yes "),
        (" Deploy ", "deploy"),
        ("Caf\u00e9", "Cafe\u0301"),
        ("A b", "A  b"),
        ("A b", "A\u00a0\tb"),
        ("YES", "y\u200bes"),
        ("Yes", "Yes\u202e"),
        ("Yes", "Y\x07es"),
        ("Stra\u00dfe", "STRASSE"),
        ("Yes", "Yes\U000e0041"),
        ("\u00c5ngstr\u00f6m", "\u212bngstr\u00f6m"),
    ],
)
def test_labels_that_read_the_same_are_refused(labels: tuple[str, str]) -> None:
    assert faults_of(labelled(*labels)) == [("questions[0].options[1].label", "duplicate_option_label")]


@pytest.mark.parametrize(
    "labels",
    [
        ("Resume", "Résumé"),
        ("👍 Yes", "👎 Yes"),
        (ENGLAND, SCOTLAND),
        ("3000", "8080", "2"),
        ("Yes, always", "Yes", "No, never"),
        ("<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "</script>", "{{7*7}}"),
        ("[x](javascript:alert(1))", "*bold* <@U123> @everyone", "=HYPERLINK(1)", "{% csrf_token %}"),
        (f"{FAMILY}" * 9, "\u202eright to left", "\u0645\u0631\u062d\u0628\u0627"),
        ("Other port", "Another", "Others", "其他人"),
    ],
)
def test_labels_are_kept_as_they_are(labels: tuple[str, ...]) -> None:
    assert parse_ask(labelled(*labels)).questions[0].labels == list(labels)


def test_a_label_of_64_characters_is_the_longest() -> None:
    assert parse_ask(labelled("x" * 64, "y" * 64)).questions[0].labels == ["x" * 64, "y" * 64]


@pytest.mark.parametrize(
    "label",
    [
        "Other", "OTHER ", "other:", "Other…", "Other...", "Other .", "…other…", "O\u200bther", "Ｏｔｈｅｒ",
        "其他", "其他…", "其他：", "其它", "其他。", "Autre", "autre :",
    ],
)  # fmt: skip
def test_an_authored_other_is_refused(label: str) -> None:
    assert faults_of(labelled("A", "B", label)) == [("questions[0].options[2].label", "reserved_option_label")]


def test_every_shipped_language_has_its_words_for_other() -> None:
    assert {code for code, _name in settings.LANGUAGES} <= set(schema.OTHER_WORDS)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", ZERO_WIDTH, "\u2800", "\x07", "\u202e\u202c", "\u3000", "\U000e0041"]
)
def test_what_leaves_no_ink_is_blank(text: str) -> None:
    assert schema.is_blank(text)


@pytest.mark.parametrize("text", ["a", ".", "0", "\u200ba", "\u06dd", "👍", "\ufffd"])
def test_what_leaves_ink_is_not_blank(text: str) -> None:
    assert not schema.is_blank(text)


# -- answers --------------------------------------------------------------------------------------

SINGLE = schema.AskQuestion("choice", "Choice", "Choice", "?", (schema.AskOption("One"), schema.AskOption("Two")))
MULTI = schema.AskQuestion(
    "many", "Many", "Many", "?", tuple(schema.AskOption(label) for label in ("Yes, always", "Yes", "8080")), True
)


def answer_faults(questions: list[schema.AskQuestion], data: object) -> list[tuple[str, str]]:
    """The (path, rule) of every fault of an answer."""
    with pytest.raises(Faults) as caught:
        parse_answers(questions, data)
    return [(detail["path"], detail["rule"]) for detail in caught.value.details]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, [("answers.choice", "required")]),
        ({"choice": []}, [("answers.choice", "required")]),
        ({"choice": [""]}, [("answers.choice[0]", "blank")]),
        ({"choice": ["   "]}, [("answers.choice[0]", "blank")]),
        ({"choice": ["\u200b\u2060"]}, [("answers.choice[0]", "blank")]),
        ({"choice": ["Two"], "unknown": ["x"]}, [("answers.unknown", "unknown_question")]),
        ({"choice": ["One", "Two"]}, [("answers.choice", "count")]),
        ({"choice": ["One", ""]}, [("answers.choice", "count"), ("answers.choice[1]", "blank")]),
        ({"choice": "One"}, [("answers.choice", "type")]),
        ({"choice": None}, [("answers.choice", "type")]),
        ({"choice": {"answers": ["One"]}}, [("answers.choice", "type")]),
        ({"choice": [1]}, [("answers.choice[0]", "type")]),
        ({"choice": [None]}, [("answers.choice[0]", "type")]),
        ({"choice": [["One"]]}, [("answers.choice[0]", "type")]),
        ({"choice": ["x\x00"]}, [("answers.choice[0]", "character")]),
        ({"choice": ["x\ud800"]}, [("answers.choice[0]", "character")]),
        ({"choice": ["x" * 10_001]}, [("answers.choice[0]", "length")]),
        ({"constructor": ["x"]}, [("answers.constructor", "unknown_question"), ("answers.choice", "required")]),
        ([], [("answers", "type")]),
        (None, [("answers", "type")]),
        ("One", [("answers", "type")]),
    ],
)
def test_an_answer_breaks_a_rule(data: object, expected: list[tuple[str, str]]) -> None:
    assert answer_faults([SINGLE], data) == expected


def test_every_question_needs_an_answer() -> None:
    assert answer_faults([SINGLE, MULTI], {"many": ["Yes"]}) == [("answers.choice", "required")]


def test_a_question_named_constructor_is_a_question() -> None:
    named = schema.AskQuestion("constructor", "C", "C", "?", SINGLE.options)
    assert answer_faults([named], {}) == [("answers.constructor", "required")]
    assert parse_answers([named], {"constructor": ["One"]}) == {"constructor": ["One"]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Two", "Two"),
        ("  Two  ", "Two"),
        ("two", "two"),
        ("custom", "custom"),
        ("2", "2"),
        (" 4444\n", "4444"),
        ("One, Two", "One, Two"),
        ("<b>bold</b> {{7*7}}", "<b>bold</b> {{7*7}}"),
        ("line one\n\nline two", "line one\n\nline two"),
        ("x" * 10_000, "x" * 10_000),
    ],
)
def test_a_single_choice_takes_a_label_or_a_text(value: str, expected: str) -> None:
    assert parse_answers([SINGLE], {"choice": [value]}) == {"choice": [expected]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["8080", "Yes, always", "and D"], ["Yes, always", "8080", "and D"]),
        (["and D", "8080", "Yes"], ["Yes", "8080", "and D"]),
        (["Yes", " Yes ", "Yes"], ["Yes"]),
        (["extra", "extra "], ["extra"]),
        (["Yes, always"], ["Yes, always"]),
        (["yes"], ["yes"]),
        (["Yes", "8080", "Yes, always"], ["Yes, always", "Yes", "8080"]),
    ],
)
def test_a_multiple_choice_is_put_in_order(values: list[str], expected: list[str]) -> None:
    assert parse_answers([MULTI], {"many": values}) == {"many": expected}


def test_the_body_of_an_answer() -> None:
    body = {"answers": {"choice": ["One"]}, "resolutionId": "receipt"}
    assert parse_answer([SINGLE], body) == ({"choice": ["One"]}, "receipt")
    assert parse_answer([SINGLE], {"answers": {"choice": ["One"]}}) == ({"choice": ["One"]}, None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("answers", "required")]),
        ([], [("", "type"), ("answers", "required")]),
        ({"answers": {}, "cancel": True}, [("cancel", "unknown_key"), ("answers.choice", "required")]),
        ({"answers": {"choice": ["One"]}, "resolutionId": ""}, [("resolutionId", "blank")]),
        ({"answers": {}, "resolutionId": 5}, [("answers.choice", "required"), ("resolutionId", "type")]),
        ({"answers": {"choice": ["One"]}, "resolutionId": "r" * 129}, [("resolutionId", "length")]),
    ],
)
def test_the_body_of_an_answer_breaks_a_rule(body: object, expected: list[tuple[str, str]]) -> None:
    with pytest.raises(Faults) as caught:
        parse_answer([SINGLE], body)
    assert [(detail["path"], detail["rule"]) for detail in caught.value.details] == expected


def test_the_body_of_a_skip() -> None:
    assert parse_skip({}) is None
    assert parse_skip({"resolutionId": "r"}) == "r"
    with pytest.raises(Faults):
        parse_skip({"answers": {}})


# -- anything at all ------------------------------------------------------------------------------

# A busy machine is no fault of the code's.
at_any_pace = hypothesis.settings(deadline=None)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)
TEXT = st.text(st.characters(), max_size=80)
OPTION = st.fixed_dictionaries({"label": TEXT}, optional={"description": TEXT | JSON, "x": JSON})
QUESTION = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", "c"]) | TEXT,
        "header": TEXT,
        "question": TEXT,
        "options": st.lists(OPTION, max_size=5),
    },
    optional={"multiSelect": st.booleans() | JSON},
)
ASKS = st.fixed_dictionaries(
    {"questions": st.lists(QUESTION, max_size=4)},
    optional={"timeoutSeconds": st.integers() | JSON, "maxTimeoutSeconds": st.integers() | JSON, "mode": TEXT},
)


def outcome(parse: Callable[[], Any]) -> tuple[Any, list[dict[str, Any]]]:
    """What a reader gives, and its faults."""
    try:
        return parse(), []
    except Faults as caught:
        return None, caught.details


@at_any_pace
@given(JSON | ASKS)
def test_any_body_is_an_ask_or_has_faults(data: object) -> None:
    read, faults = outcome(lambda: parse_ask(data))
    if faults:
        assert len(faults) <= 100
        assert all(detail["rule"] and detail["message"] for detail in faults)
        assert json.dumps(faults, ensure_ascii=False).encode()
        return
    assert 1 <= len(read.questions) <= 3
    assert 30 <= read.timeout_seconds <= 3600
    for item in read.questions:
        assert not schema.is_blank(item.header)
        assert len(regex.findall(r"\X", item.header)) <= 12
        assert 2 <= len(item.options) <= 4
        assert len({schema.fold_label(label) for label in item.labels}) == len(item.labels)
        assert all(label == label.strip() and not schema.is_blank(label) for label in item.labels)


@at_any_pace
@given(JSON | st.dictionaries(st.sampled_from(["choice", "many", "x"]), st.lists(TEXT | JSON, max_size=4)))
def test_any_answer_is_whole_or_has_faults(data: object) -> None:
    answers, faults = outcome(lambda: parse_answers([SINGLE, MULTI], data))
    if faults:
        return
    assert list(answers) == ["choice", "many"]
    assert len(answers["choice"]) == 1
    assert all(values and not any(map(schema.is_blank, values)) for values in answers.values())
    assert parse_answers([SINGLE, MULTI], answers) == answers, "canonical stays canonical"


@at_any_pace
@given(st.lists(st.sampled_from([*MULTI.labels, "own", "more"]), min_size=1), st.randoms())
def test_the_order_of_ticks_does_not_matter(values: list[str], random: Any) -> None:
    shuffled = random.sample(values, len(values))
    ticked = [value for value in parse_answers([MULTI], {"many": shuffled})["many"] if value in MULTI.labels]
    assert ticked == [label for label in MULTI.labels if label in values]


@at_any_pace
@given(JSON)
def test_the_digest_is_of_the_value_not_of_its_spelling(data: Any) -> None:
    again = json.loads(json.dumps(data, indent=3))
    assert schema.body_digest(again) == schema.body_digest(data)


def test_the_digest_tells_bodies_apart() -> None:
    assert schema.body_digest({"a": 1, "b": 2}) == schema.body_digest({"b": 2, "a": 1})
    assert len({schema.body_digest(body) for body in ({"a": 1}, {"a": "1"}, {"a": True}, {"a": [1]}, {})}) == 5


@pytest.mark.parametrize(
    "junk",
    [
        "\U000e0067" * 60_000,
        " " * 250_000 + "a",
        "a" + " " * 250_000 + "a", "a" + "\u0301\u0316" * 60_000,
        "\u200b" * 80_000,
    ],
    ids=["tags", "spaces", "inner spaces", "marks", "zero width"],
)  # fmt: skip
def test_the_work_grows_with_the_size_and_no_faster(junk: str) -> None:
    body = ask(questions=[question(header=junk, question=junk, options=[{"label": junk}, {"label": junk}])])
    started = time.process_time()
    with pytest.raises(Faults):
        parse_ask(body)
    # Linear takes milliseconds here, quadratic takes minutes.
    assert time.process_time() - started < 5


def test_it_needs_no_django() -> None:
    program = "import sys; import questions.schema, controlui.chat.schema; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=settings.BASE_DIR, check=False).returncode == 0
