"""An async answer as an ordinary message, and back (seed, async section). Pure Python: no Django.

The message quotes each question and puts the values under it. Reading one back never guesses: headings that stand where
they could mean two things make the text unreadable as parts, and it is shown whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from questions.schema import Answerable

TITLE_BYTES = 512


class Asked(Answerable, Protocol):
    """What is needed to know of a question."""

    @property
    def text(self) -> str:
        """The question in full."""


def title(text: str) -> str:
    """A question as a heading: one line, at most 512 bytes, cut between characters (study J16)."""
    line = " ".join(text.split())
    return line.encode()[:TITLE_BYTES].decode(errors="ignore").rstrip()


def heading(question: Asked) -> str:
    """The line that quotes a question."""
    return f"> {title(question.text)}"


def message_of(questions: Sequence[Asked], answers: dict[str, list[str]]) -> str:
    """The message that an answer is sent as: for each question its heading, a blank line, the values (design 6)."""
    return "\n\n".join(f"{heading(question)}\n\n{', '.join(answers[question.key])}" for question in questions)


def split(questions: Sequence[Asked], text: str) -> list[str] | None:
    """What stands under each heading, or None where that is not certain: a heading is missing, out of order, or could
    be meant twice; or nothing stands under one."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    if not lines or lines[0].rstrip() != heading(questions[0]):
        return None
    parts, start = [], 1
    for following in questions[1:]:
        places = [place for place in range(start, len(lines)) if lines[place].rstrip() == heading(following)]
        if len(places) != 1:
            return None
        parts.append("\n".join(lines[start : places[0]]).strip())
        start = places[0] + 1
    parts.append("\n".join(lines[start:]).strip())
    return parts if all(parts) else None


def read(questions: Sequence[Asked], text: str) -> dict[str, list[str]] | None:
    """The answers that a saved reply means, or None where its parts are not certain."""
    parts = split(questions, text)
    if parts is None:
        return None
    return {question.key: values_of(question, part) for question, part in zip(questions, parts, strict=True)}


def values_of(question: Asked, part: str) -> list[str]:
    """The options that a text names, if it names nothing else; else the text."""
    if part in question.labels:
        return [part]
    named = [value.strip() for value in part.split(",")]
    if question.multi_select and set(named) <= set(question.labels):
        return [label for label in question.labels if label in named]
    return [part]
