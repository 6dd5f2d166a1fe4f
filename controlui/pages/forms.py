"""Reading the forms of a page into values. The rules for values are the transitions' and the schema's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from django.http import QueryDict

from controlui.chat.ids import new_uid
from questions.models import Question
from questions.queries import DockView

Values = dict[str, dict[str, Any]]
CHOICE, TEXT, OWN = "choice-", "text-", "own-"
BIGGEST = 2**53


def typed(text: str) -> str:
    """What was typed: forms carry line ends as CR LF, whatever the keyboard made."""
    return text.replace("\r\n", "\n")


def mark(data: QueryDict, name: str, limit: int) -> str:
    """A field that pages and scripts fill in, never a person. A NUL, which no database of ours stores, is left out."""
    return data.get(name, "").replace("\x00", "")[:limit]


def number(text: str) -> int:
    """A count made by scripts; nonsense is 0."""
    # Length first: Python refuses to read a number of thousands of digits, with an error of its own.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 17 and int(text) < BIGGEST else 0


@dataclass(frozen=True, slots=True)
class TabSave:
    """Which tab saves, and how often it did before (design rule 4)."""

    tab: str
    tab_seq: int
    revision: int

    @classmethod
    def read(cls, data: QueryDict) -> Self:
        """From a form. Without scripts each drawing of a form counts as a tab of its own."""
        return cls(
            tab=mark(data, "tab", 64) or new_uid(),
            tab_seq=number(data.get("tab_seq", "")),
            revision=number(data.get("revision", "")),
        )


@dataclass(frozen=True, slots=True)
class DockForm:
    """The dock's one form: the button pressed, the view it stood in, and the draft."""

    action: str
    view: DockView
    save: TabSave
    resolution_id: str
    values: Values

    @classmethod
    def read(cls, data: QueryDict) -> Self:
        """From a POST. A question whose text box is not in the form is not in the values either."""
        return cls(
            action=data.get("action", "save"),
            view=DockView.from_query(data),
            save=TabSave.read(data),
            resolution_id=mark(data, "resolution_id", 128),
            values={name.removeprefix(TEXT): value_of(data, name) for name in data if name.startswith(TEXT)},
        )


def value_of(data: QueryDict, name: str) -> dict[str, Any]:
    """One question's draft: the options ticked and the text typed."""
    key = name.removeprefix(TEXT)
    # Without scripts a ticked radio button cannot be unticked; this box says that the text counts.
    chosen = [] if data.get(OWN + key) else data.getlist(CHOICE + key)
    return {"chosen": chosen, "text": typed(data.get(name, ""))}


def answers_of(questions: list[Question], values: Values) -> dict[str, list[str]]:
    """The wire answers that a draft means: in a single choice an option counts, and text only without one."""
    answers = {}
    for question in questions:
        given = values.get(question.key) or {}
        chosen = [option["label"] for option in question.options if option["key"] in given.get("chosen", [])]
        text = given.get("text", "")
        own = [text] if text.strip() and (question.multi_select or not chosen) else []
        answers[question.key] = [*(chosen if question.multi_select else chosen[:1]), *own]
    return answers
