"""The wire form of asks and answers, and its rules (design sections 5 and 7). Pure Python: no Django.

What the database alone can know (does the run exist, is the id taken) is decided by the transitions.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import regex

from controlui.rest.shape import INK, Check, Faults, is_blank, join

__all__ = [
    "Ask",
    "AskOption",
    "AskQuestion",
    "Faults",
    "body_digest",
    "cut_header",
    "fold_label",
    "is_blank",
    "is_reserved",
    "parse_answer",
    "parse_answers",
    "parse_ask",
    "parse_skip",
]

QUESTIONS_MIN, QUESTIONS_MAX = 1, 3
OPTIONS_MIN, OPTIONS_MAX = 2, 4
QUESTION_ID = "[a-z][a-z0-9_]*"
QUESTION_ID_MAX = 64
HEADER_CLUSTERS = 12
# A cluster may carry any number of marks; this many code points are stored at most.
HEADER_STORED = 400
QUESTION_MAX = 2_000
LABEL_MAX = 64
DESCRIPTION_MAX = 500
TIMEOUT_DEFAULT, TIMEOUT_MIN, TIMEOUT_MAX = 900, 30, 3_600
# More time adds up to maxTimeoutSeconds: a day at most, as long as a run lasts by default.
LONGEST_TIMEOUT = 86_400
CLIENT_ID = "[A-Za-z0-9_-]{16,128}"
RUN_ID_MAX = 128
SESSION_KEY_MAX = 200
MODES = ("blocking", "async")
ANSWER_MAX = 10_000
VALUES_MAX = 100
RECEIPT_MAX = 128

ASK_KEYS = ("questions", "timeoutSeconds", "maxTimeoutSeconds", "runId", "sessionKey", "mode", "id")
QUESTION_KEYS = ("id", "header", "question", "options", "multiSelect")
OPTION_KEYS = ("label", "description")
ANSWER_KEYS = ("answers", "resolutionId")

# The built-in free text choice, in the languages that are shipped and in those it is most often authored in
# (bugs case 13). Folded as `is_reserved` folds a label.
OTHER_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset({"other"}),
    "zh-hans": frozenset({"其他", "其它"}),
    "fr": frozenset({"autre"}),
}

GRAPHEME = regex.compile(r"\X")
# Zero-width and control characters but spaces. Tag characters after a black flag stay: they tell Scotland's
# flag from England's. The look-behind makes this quadratic, so it is only for labels of a checked length.
INVISIBLE = regex.compile(
    r"(?<!\U0001F3F4[\U000E0020-\U000E007F]*)[\U000E0000-\U000E007F]"
    r"|[[\p{Cc}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]--[\s\U000E0000-\U000E007F]]",
    flags=regex.VERSION1,
)
SPACES = regex.compile(r"\s+")
DOTS = ".:…‥·。．：︰"


@dataclass(frozen=True, slots=True)
class AskOption:
    """A choice of a question."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class AskQuestion:
    """A question of an ask. `header` is cut for display, `full_header` is what was written."""

    key: str
    header: str
    full_header: str
    text: str
    options: tuple[AskOption, ...]
    multi_select: bool = False

    @property
    def labels(self) -> list[str]:
        """The authored labels, in order."""
        return [option.label for option in self.options]


@dataclass(frozen=True, slots=True)
class Ask:
    """A whole ask, every rule kept. `timeout_seconds` is clamped already."""

    questions: tuple[AskQuestion, ...]
    timeout_seconds: int = TIMEOUT_DEFAULT
    max_timeout_seconds: int | None = None
    run_id: str | None = None
    session_key: str | None = None
    mode: str = "blocking"
    client_id: str | None = None


class Answerable(Protocol):
    """What `parse_answers` needs to know of a question: a stored one, or an AskQuestion."""

    @property
    def key(self) -> str:
        """The question's id on the wire."""

    @property
    def labels(self) -> list[str]:
        """Its authored labels, in order."""

    @property
    def multi_select(self) -> bool:
        """Whether several values are taken."""


def parse_ask(data: object) -> Ask:
    """The ask that a decoded JSON body means. Raises Faults with every rule it breaks."""
    check = Check()
    body = check.mapping(data, "", ASK_KEYS)
    if body is None:
        check.done()
        raise AssertionError("a body that is no object is a fault")
    questions = parse_questions(check, body)
    timeout, longest = parse_timeouts(check, body)
    ask = Ask(
        questions=questions,
        timeout_seconds=timeout,
        max_timeout_seconds=longest,
        run_id=check.line(body, "", "runId", limit=RUN_ID_MAX),
        session_key=check.line(body, "", "sessionKey", limit=SESSION_KEY_MAX),
        mode=parse_mode(check, body),
        client_id=check.matching(body, "", "id", CLIENT_ID),
    )
    check.done()
    return ask


def parse_mode(check: Check, body: Mapping[str, object]) -> str:
    """The mode. An async ask never expires, so it takes no timeout."""
    mode = check.one_of(body, "", "mode", MODES) or "blocking"
    if mode == "async":
        for key in ("timeoutSeconds", "maxTimeoutSeconds"):
            if key in body:
                check.fault(key, "not_with_async", "An async question never expires. Leave this out.")
    return mode


def parse_timeouts(check: Check, body: Mapping[str, object]) -> tuple[int, int | None]:
    """The clamped timeout, and the clamped longest one if any."""
    given = check.integer(body, "", "timeoutSeconds")
    timeout = TIMEOUT_DEFAULT if given is None else min(max(given, TIMEOUT_MIN), TIMEOUT_MAX)
    longest = check.integer(body, "", "maxTimeoutSeconds")
    if longest is None:
        return timeout, None
    longest = min(max(longest, TIMEOUT_MIN), LONGEST_TIMEOUT)
    if longest < timeout:
        message = "maxTimeoutSeconds must not be less than timeoutSeconds."
        check.fault("maxTimeoutSeconds", "less_than_timeout", message, limit=timeout)
    return timeout, longest


def parse_questions(check: Check, body: Mapping[str, object]) -> tuple[AskQuestion, ...]:
    """The questions of an ask; ids unique."""
    parsed: list[AskQuestion] = []
    seen: dict[str, int] = {}
    raw = check.items(body, "", "questions", least=QUESTIONS_MIN, most=QUESTIONS_MAX)
    for index, item in enumerate(raw):
        path = f"questions[{index}]"
        question = parse_question(check, item, path)
        if question is None:
            continue
        if question.key and question.key in seen:
            message = f"Two questions have the id {question.key}."
            check.fault(f"{path}.id", "duplicate_question_id", message, first=f"questions[{seen[question.key]}].id")
        seen.setdefault(question.key, index)
        parsed.append(question)
    return tuple(parsed)


def parse_question(check: Check, item: object, path: str) -> AskQuestion | None:
    """One question. Unusable fields are noted as faults and stand empty in what is given back."""
    data = check.mapping(item, path, QUESTION_KEYS)
    if data is None:
        return None
    header = check.text(data, path, "header", required=True) or ""
    return AskQuestion(
        key=parse_question_id(check, data, path),
        header=cut_header(header),
        full_header=header,
        text=check.text(data, path, "question", required=True, limit=QUESTION_MAX) or "",
        options=parse_options(check, data, path),
        multi_select=check.boolean(data, path, "multiSelect"),
    )


def parse_question_id(check: Check, data: Mapping[str, object], path: str) -> str:
    """The key under which the answer comes back: snake_case, at most 64 characters."""
    key = check.matching(data, path, "id", QUESTION_ID, required=True)
    if key is not None and len(key) > QUESTION_ID_MAX:
        message = f"An id has at most {QUESTION_ID_MAX} characters."
        check.fault(join(path, "id"), "length", message, limit=QUESTION_ID_MAX, length=len(key))
    return key or ""


def parse_options(check: Check, data: Mapping[str, object], path: str) -> tuple[AskOption, ...]:
    """The authored options: labels that can be told apart, and none that doubles the built-in Other."""
    parsed: list[AskOption] = []
    seen: dict[str, str] = {}
    for index, item in enumerate(check.items(data, path, "options", least=OPTIONS_MIN, most=OPTIONS_MAX)):
        where = f"{path}.options[{index}]"
        option = check.mapping(item, where, OPTION_KEYS)
        if option is None:
            continue
        label = check.text(option, where, "label", required=True, limit=LABEL_MAX)
        # One that is too long must change anyway, and folding takes more than linear time.
        if label is not None and len(label) <= LABEL_MAX:
            check_label(check, label, f"{where}.label", seen)
        description = ""
        if "description" in option:
            given = check.plain(option["description"], f"{where}.description", limit=DESCRIPTION_MAX, blank=True)
            description = "" if given is None or is_blank(given) else given
        parsed.append(AskOption(label or "", description))
    return tuple(parsed)


def check_label(check: Check, label: str, path: str, seen: dict[str, str]) -> None:
    """Notes a label that equals an earlier one of its question, or the built-in Other."""
    folded = fold_label(label)
    if folded in seen:
        message = "Two options of a question must not have the same label."
        check.fault(path, "duplicate_option_label", message, first=seen[folded])
    seen.setdefault(folded, path)
    if is_reserved(label):
        message = "People can always type an answer of their own. Leave this option out."
        check.fault(path, "reserved_option_label", message)


def fold_label(label: str) -> str:
    """What two labels have in common when a person could not tell them apart (bugs case 09)."""
    folded = unicodedata.normalize("NFC", INVISIBLE.sub("", label)).casefold()
    return SPACES.sub(" ", unicodedata.normalize("NFC", folded)).strip()


def is_reserved(label: str) -> bool:
    """Whether a label is the word for the built-in Other, with or without dots or a colon (bugs case 13)."""
    folded = fold_label(unicodedata.normalize("NFKC", label)).strip(DOTS + " ")
    return any(folded in words for words in OTHER_WORDS.values())


def cut_header(header: str) -> str:
    """The first 12 characters as a person counts them; never half of one (bugs case 98)."""
    ink = INK.search(header)
    clusters: list[str] = []
    size = 0
    # Invisible characters before the first ink would use up the twelve and show nothing.
    for cluster in GRAPHEME.finditer(header, pos=ink.start() if ink else 0):
        size += len(cluster[0])
        if len(clusters) == HEADER_CLUSTERS or (clusters and size > HEADER_STORED):
            break
        clusters.append(cluster[0])
    return "".join(clusters)[:HEADER_STORED].rstrip("\u200d")


def parse_answers(questions: Sequence[Answerable], data: object) -> dict[str, list[str]]:
    """The canonical answers: every question answered, labels in authored order, own text last, no repeats.

    `data` is the wire map `{question id: [values]}`. Raises Faults with every rule it breaks.
    """
    check = Check()
    keys = [question.key for question in questions]
    if not isinstance(data, dict):
        check.fault("answers", "type", "This must be an object: question id to list of values.", expected="object")
        raise Faults(check.details)
    for key in data:
        if key not in keys:
            check.fault(join("answers", key), "unknown_question", "There is no question with this id.", allowed=keys)
    answers = {question.key: parse_values(check, question, data) for question in questions}
    check.done()
    return answers


def parse_answer(questions: Sequence[Answerable], data: object) -> tuple[dict[str, list[str]], str | None]:
    """The body of an answer: canonical answers and the receipt. Raises Faults, those of both at once."""
    check = Check()
    body = check.mapping(data, "", ANSWER_KEYS) or {}
    answers: dict[str, list[str]] = {}
    if check.given(body, "", "answers", required=True):
        try:
            answers = parse_answers(questions, body["answers"])
        except Faults as faults:
            check.details += faults.details
    receipt = parse_receipt(check, body)
    check.done()
    return answers, receipt


def parse_skip(data: object) -> str | None:
    """The body of a skip: the receipt, if any. Raises Faults."""
    check = Check()
    receipt = parse_receipt(check, check.mapping(data, "", ("resolutionId",)) or {})
    check.done()
    return receipt


def parse_receipt(check: Check, body: Mapping[str, object]) -> str | None:
    """The submitter's `resolutionId`: any printable text of 1 to 128 characters."""
    return check.line(body, "", "resolutionId", limit=RECEIPT_MAX)


def parse_values(check: Check, question: Answerable, data: Mapping[str, object]) -> list[str]:
    """The values given for one question, canonical."""
    path = join("answers", question.key)
    raw = data.get(question.key, [])
    if not isinstance(raw, list):
        check.fault(path, "type", "This must be a list of texts.", expected="array")
        return []
    if not raw:
        check.fault(path, "required", "This question needs an answer.")
        return []
    most = VALUES_MAX if question.multi_select else 1
    if len(raw) > most:
        check.fault(path, "count", f"This question takes at most {most} value(s).", limit=most, length=len(raw))
    values = [check.plain(value, f"{path}[{index}]", limit=ANSWER_MAX) for index, value in enumerate(raw)]
    return in_order([value for value in values if value is not None], question.labels)


def in_order(values: list[str], labels: Sequence[str]) -> list[str]:
    """Chosen labels as authored, then the person's own texts as given; each once."""
    chosen = [label for label in labels if label in values]
    own = [value for value in values if value not in labels]
    return [*chosen, *dict.fromkeys(own)]


def body_digest(data: Any) -> str:
    """SHA-256 of the canonical JSON: equal for bodies that differ only in spacing and key order."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
