"""A plain-text reply as an answer: what a person means by "2", "production" or "budget: high" (study 5.2). Pure Python.

One question: the whole text is a number of an option, its label whatever the case, or the person's own text. Several
values: commas, semicolons and line ends part them. Several questions: a line for each, named by id, header, number or
the question itself; lines without a name go to the questions that no other line names, in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from questions import replies
from questions.schema import fold_label, in_order, is_blank

PARTS = re.compile(r"[,;\n，；、]")
SEPARATOR = re.compile(r"[:=\-：]")
NUMBERED = re.compile(r"(\d{1,2})[.)]\s+(.+)")
# "14:30" names no question.
TIME = re.compile(r"\d{1,2}:\d{2}(?!\d)")
# The mark that model guidance asks for (seed). Any other words in brackets tell one choice from another.
RECOMMENDED = re.compile(r"(.*\S)\s*[(（](?:recommended|推荐)[)）]", re.IGNORECASE)


class Asked(replies.Asked, Protocol):
    """What is needed to know of a question: what a message quotes, and its short name."""

    @property
    def full_header(self) -> str:
        """Its header, uncut."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a text was understood as: values by question key, keys that got none, and lines that fit nowhere."""

    answers: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether it answers the prompt, each question, with nothing left over."""
        return bool(self.answers) and not self.missing and not self.surplus


def read(questions: Sequence[Asked], text: str) -> Reply:
    """What a reply to these questions means; nothing is guessed that could mean two things."""
    text = text.replace("\r\n", "\n").strip()
    surplus: list[str] = []
    if len(questions) == 1:
        given = {questions[0].key: [text]}
    else:
        given, surplus = lines_by_question(questions, text)
    answers = {}
    for question in questions:
        values = values_of(question, "\n".join(given.get(question.key, [])))
        if values:
            answers[question.key] = values
    missing = [question.key for question in questions if question.key not in answers]
    return Reply(answers, missing, surplus)


def lines_by_question(questions: Sequence[Asked], text: str) -> tuple[dict[str, list[str]], list[str]]:
    """The lines that belong to each question, by key; and those that belong to none."""
    given: dict[str, list[str]] = {}
    bare, surplus = [], []
    for line in (line.strip() for line in text.split("\n")):
        if is_blank(line):
            continue
        named = name_of(questions, line)
        if named is None:
            bare.append(line)
        elif named[0].key in given and not named[0].multi_select:
            surplus.append(line)
        else:
            given.setdefault(named[0].key, []).append(named[1])
    # A line keeps no place that another one names (the quirk of study 10).
    free = [question.key for question in questions if question.key not in given]
    given |= {key: [line] for key, line in zip(free, bare, strict=False)}
    return given, surplus + bare[len(free) :]


def name_of(questions: Sequence[Asked], line: str) -> tuple[Asked, str] | None:
    """The question that a line names, and the rest of the line."""
    if TIME.match(line):
        return None
    numbered = NUMBERED.fullmatch(line)
    if numbered is not None and 1 <= int(numbered[1]) <= len(questions):
        return questions[int(numbered[1]) - 1], numbered[2]
    # The longest name first: a header may have a separator of its own ("Budget - all in: 1").
    for separator in reversed([*SEPARATOR.finditer(line)]):
        found = called(questions, line[: separator.start()])
        if found is not None:
            return found, line[separator.end() :].strip()
    return None


def called(questions: Sequence[Asked], name: str) -> Asked | None:
    """The one question with this number, id, header or text; None where none or several have it."""
    name = fold_label(name)
    number = number_in(name, len(questions))
    if number is not None:
        return questions[number]
    names = [(one, {fold_label(text) for text in (one.key, one.full_header, one.text)}) for one in questions]
    found = [one for one, known in names if name in known]
    return found[0] if len(found) == 1 else None


def values_of(question: Asked, text: str) -> list[str]:
    """The values that a text gives one question, as an answer has them; empty for none."""
    text = text.strip()
    if is_blank(text):
        return []
    whole = option(question, text)
    if whole is not None:
        return [whole]
    if not question.multi_select:
        return [text]
    parts = [part.strip() for part in PARTS.split(text) if not is_blank(part)]
    return in_order([option(question, part) or part for part in parts], question.labels)


def option(question: Asked, text: str) -> str | None:
    """The label that a text means: by its number, its words, or its words without a closing "(Recommended)"."""
    folded = fold_label(text)
    for label in question.labels:
        if fold_label(label) == folded:
            return label
    # After the labels: one that is a number means itself.
    number = number_in(text, len(question.labels))
    if number is not None:
        return question.labels[number]
    marked = [(label, mark[1]) for label in question.labels if (mark := RECOMMENDED.fullmatch(label))]
    short = [label for label, words in marked if fold_label(words) == folded]
    return short[0] if len(short) == 1 else None


def number_in(text: str, most: int) -> int | None:
    """The index that a number from 1 to `most` stands for."""
    text = text.strip()
    if not text.isdecimal() or len(text) > 2:
        return None
    return int(text) - 1 if 1 <= int(text) <= most else None
