"""One draft, several tabs: what is kept of each (design rule 4). Decides only; whoever calls it holds the row's lock
and saves the row.

A draft has a `revision`, the `tab` that wrote its present value, `tabs` (the highest sequence seen of each recent tab)
and `alternates`: what tabs that did not know the present revision saved, kept beside it, the newest last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .errors import TooManyVersions

TABS_MAX = 8
# Each is a text that a person typed in a tab of their own. One more is refused, and stays in its tab.
ALTERNATES_MAX = 50
Alternate = dict[str, Any]


class Draft(Protocol):
    """The columns of a draft's row, beside the one that holds its value."""

    tab: str
    tabs: Any
    revision: Any
    alternates: Any


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """What became of a save: `stored` is "saved", "ignored" (late, or nothing new) or "alternate"."""

    revision: int
    stored: str


def keep(
    draft: Draft, column: str, value: Any, *, tab: str, tab_seq: int, revision: int, take_over: bool = False
) -> SavedDraft:
    """Puts a save into the draft. `revision` is the one the tab began from, `tab_seq` its own growing number.

    In one tab a lower sequence is ignored; from another tab with a stale revision the value is kept beside the present
    one. `take_over`: the person pressed a button in this tab, so its value becomes the present one and the other is
    kept beside it. Raises TooManyVersions.
    """
    known = int(draft.tabs.get(tab, -1))
    if tab_seq < known or (tab_seq == known and not take_over):
        return SavedDraft(draft.revision, "ignored")
    before = (getattr(draft, column), draft.alternates)
    stored = store(draft, column, value, tab, revision, take_over=take_over)
    draft.tabs = remember(draft.tabs, tab, tab_seq)
    draft.revision += int((getattr(draft, column), draft.alternates) != before)
    return SavedDraft(draft.revision, stored)


def store(draft: Draft, column: str, value: Any, tab: str, revision: int, *, take_over: bool) -> str:
    """Decides about one save: what it was stored as."""
    present = getattr(draft, column)
    others = [other for other in draft.alternates if other["tab"] != tab]
    knows = knows_present(draft, tab, revision)
    if value == present or (is_blank(value) and not knows):
        # A tab in which nothing stands takes nothing away from one that it does not know.
        draft.alternates = others
        return "saved" if value == present else "ignored"
    if take_over or knows or is_blank(present):
        if not knows and not is_blank(present):
            others.append({"tab": draft.tab, column: present})
        draft.alternates = bounded(draft, column, others, value)
        draft.tab = tab
        setattr(draft, column, value)
        return "saved"
    others.append({"tab": tab, column: value})
    draft.alternates = bounded(draft, column, others, present)
    return "alternate"


def knows_present(draft: Draft, tab: str, revision: int) -> bool:
    """Whether a tab goes on from the present value. One that was told of another's does not, whatever it says."""
    if any(other["tab"] == tab for other in draft.alternates):
        return False
    return draft.tab == tab or revision >= int(draft.revision)


def bounded(draft: Draft, column: str, alternates: list[Alternate], present: Any) -> list[Alternate]:
    """As many as may be kept: over the bound those go that say nothing which stands nowhere else, and are of no
    tab any more that is still at work. Raises TooManyVersions; nothing typed is dropped."""
    if len(alternates) <= ALTERNATES_MAX:
        return alternates
    kept: list[Alternate] = []
    for number, other in enumerate(alternates):
        elsewhere = [present, *(each[column] for each in (*kept, *alternates[number + 1 :]))]
        if other["tab"] in draft.tabs or not any(covers(value, other[column]) for value in elsewhere):
            kept.append(other)
    if len(kept) > ALTERNATES_MAX:
        raise TooManyVersions
    return kept


def covers(value: Any, other: Any) -> bool:
    """Whether everything of `other` stands in `value` too: texts, or a question's choices and text by its key."""
    if isinstance(other, str):
        return other.strip() in value
    return all(
        key in value
        and set(given.get("chosen", [])) <= set(value[key].get("chosen", []))
        and given.get("text", "").strip() in value[key].get("text", "")
        for key, given in other.items()
    )


def is_blank(value: Any) -> bool:
    """Whether a draft's value holds nothing."""
    return not (value.strip() if isinstance(value, str) else value)


def remember(tabs: dict[str, int], tab: str, tab_seq: int) -> dict[str, int]:
    """The highest sequence of the most recent tabs; the newest stands last."""
    kept = {name: seq for name, seq in tabs.items() if name != tab}
    kept[tab] = max(tab_seq, int(tabs.get(tab, -1)))
    return dict(list(kept.items())[-TABS_MAX:])


def swap(draft: Draft, column: str) -> bool:
    """The newest alternate becomes the present value, which is kept as the oldest: pressed on, one sees them all."""
    if not draft.alternates:
        return False
    *others, other = draft.alternates
    present = getattr(draft, column)
    mine = [] if is_blank(present) else [{"tab": "", column: present}]
    draft.alternates = [*mine, *others]
    become(draft, column, other[column])
    return True


def drop(draft: Draft, column: str) -> bool:
    """Keeps the present value and forgets the newest alternate: the person said so."""
    if not draft.alternates:
        return False
    draft.alternates = draft.alternates[:-1]
    become(draft, column, getattr(draft, column))
    return True


def become(draft: Draft, column: str, value: Any) -> None:
    """The present value, of no tab: else the next save of the tab that made it would take its place."""
    setattr(draft, column, value)
    draft.tab = ""
    draft.revision += 1


def sent(draft: Draft, column: str, text: str, *, tab: str, tab_seq: int, revision: int) -> bool:
    """Takes a text that a tab has sent out of the draft, and nothing that another tab typed. Whether that changed it.

    What the tab saved since it sent (a higher sequence) stays, without the sent text at its beginning.
    """
    before = (getattr(draft, column), draft.alternates)
    present = before[0]
    later = int(draft.tabs.get(tab, -1)) > tab_seq
    if present == text or (knows_present(draft, tab, revision) and not later):
        setattr(draft, column, "")
    elif draft.tab == tab and present.startswith(text):
        setattr(draft, column, present[len(text) :])
    draft.alternates = [other for other in draft.alternates if other[column] != text and (later or other["tab"] != tab)]
    if draft.alternates and is_blank(getattr(draft, column)):
        *draft.alternates, waiting = draft.alternates
        draft.tab = waiting["tab"]
        setattr(draft, column, waiting[column])
    draft.tabs = remember(draft.tabs, tab, tab_seq)
    changed = (getattr(draft, column), draft.alternates) != before
    draft.revision += int(changed)
    return changed


def put_back(draft: Draft, column: str, value: Any) -> None:
    """A value that was sent and taken back: the present one if there is none, else beside it."""
    present = getattr(draft, column)
    if is_blank(present):
        setattr(draft, column, value)
    elif value != present:
        draft.alternates = bounded(draft, column, [*draft.alternates, {"tab": "", column: value}], present)
    draft.tab = ""
    draft.revision += 1
