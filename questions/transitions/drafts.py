"""Drafts: what a person ticks and types, saved while they do (design rule 4). No conversation lock, no version."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from controlui.chat import clock
from controlui.chat.models import User
from controlui.chat.transitions import change
from controlui.live import groups, publish
from questions.models import Draft, Prompt

# More than an answer may have: a text that is too long is refused on Submit, not cut while it is typed.
TEXT_MAX = 100_000
TABS_MAX = 8
ALTERNATES_MAX = 4
Values = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """What became of a save: `stored` is "saved", "ignored" (late in its own tab) or "alternate"."""

    revision: int
    stored: str


def save_draft(
    *,
    prompt: Prompt,
    user: User,
    values: Values,
    tab: str,
    tab_seq: int,
    revision: int,
    take_over: bool = False,
    at: dt.datetime | None = None,
) -> SavedDraft:
    """Keeps a draft. `revision` is the one the tab began from, `tab_seq` its own growing number.

    In one tab a lower sequence is ignored; from another tab with a stale revision the text is kept beside
    the present one as an alternate, and both tabs are told. `take_over`: the person pressed a button in
    this tab, so its text becomes the present one and the other is kept beside it.
    """
    values = known_values(prompt, values)
    at = at or clock.now()
    with transaction.atomic():
        Draft.objects.get_or_create(prompt=prompt, user=user, defaults={"updated_at": at})
        draft = Draft.objects.select_for_update().get(prompt=prompt, user=user)
        if tab_seq <= int(draft.tabs.get(tab, -1)):
            return SavedDraft(draft.revision, "ignored")
        before = (draft.values, draft.alternates)
        stored = store(draft, values, tab[:64], revision, take_over=take_over)
        draft.tabs = remember_tab(draft.tabs, tab[:64], tab_seq)
        draft.revision += int((draft.values, draft.alternates) != before)
        draft.updated_at = at
        draft.save(update_fields=["values", "revision", "tab", "tabs", "alternates", "updated_at"])
        saved = SavedDraft(draft.revision, stored)
        transaction.on_commit(lambda: tell(prompt, user, tab, saved))
    if prompt.status != Prompt.Status.PENDING:
        redraw_summary(prompt, at)
    return saved


def redraw_summary(prompt: Prompt, at: dt.datetime) -> None:
    """What was typed when a prompt ended may arrive after the page has fetched its summary: it shows that text."""
    with change(prompt.conversation, at) as opened:
        opened.redraw(prompt.message)


def store(draft: Draft, values: Values, tab: str, revision: int, *, take_over: bool) -> str:
    """Decides about one save, under the draft row's lock: what it was stored as."""
    others = [other for other in draft.alternates if other["tab"] != tab]
    was_told = len(others) < len(draft.alternates)
    knows_present = draft.tab in {"", tab} or revision >= draft.revision
    if values == draft.values:
        draft.alternates = others
        return "saved"
    if take_over or (knows_present and not was_told):
        if not knows_present or was_told:
            others.append({"tab": draft.tab, "values": draft.values})
        draft.values, draft.tab, draft.alternates = values, tab, others[-ALTERNATES_MAX:]
        return "saved"
    others.append({"tab": tab, "values": values})
    draft.alternates = others[-ALTERNATES_MAX:]
    return "alternate"


def remember_tab(tabs: dict[str, int], tab: str, tab_seq: int) -> dict[str, int]:
    """The highest sequence of the most recent tabs; the newest stands last."""
    kept = {name: seq for name, seq in tabs.items() if name != tab}
    kept[tab] = tab_seq
    return dict(list(kept.items())[-TABS_MAX:])


def known_values(prompt: Prompt, values: Values) -> Values:
    """Only questions and options that exist; texts cut to a bound far above what an answer may have."""
    known: Values = {}
    for question in prompt.questions.all():
        given = values.get(question.key)
        if not isinstance(given, dict):
            continue
        keys = [option["key"] for option in question.options]
        chosen = [key for key in keys if key in (given.get("chosen") or [])]
        if not question.multi_select:
            chosen = chosen[:1]
        text = str(given.get("text") or "")[:TEXT_MAX].replace("\x00", "")
        if chosen or text:
            known[question.key] = {"chosen": chosen, "text": text}
    return known


def use_alternate(*, prompt: Prompt, user: User, at: dt.datetime | None = None) -> int:
    """Swaps the draft with the text that was edited elsewhere: neither is lost. Returns the revision."""
    return resolve_alternate(prompt, user, at, swap=True)


def drop_alternate(*, prompt: Prompt, user: User, at: dt.datetime | None = None) -> int:
    """Keeps this text and forgets the one edited elsewhere. Returns the revision."""
    return resolve_alternate(prompt, user, at, swap=False)


def resolve_alternate(prompt: Prompt, user: User, at: dt.datetime | None, *, swap: bool) -> int:
    """One press on the notice "Also edited elsewhere"."""
    with transaction.atomic():
        draft = Draft.objects.select_for_update().filter(prompt=prompt, user=user).first()
        if draft is None:
            return 0
        if draft.alternates:
            *others, other = draft.alternates
            # Of no tab any more: else the next save of the tab that made it would take its place.
            draft.alternates = [*others, {"tab": "", "values": draft.values}] if swap else others
            draft.values = other["values"] if swap else draft.values
            draft.tab = ""
            draft.revision += 1
            draft.updated_at = at or clock.now()
            draft.save(update_fields=["values", "revision", "tab", "alternates", "updated_at"])
        saved = SavedDraft(draft.revision, "saved")
        transaction.on_commit(lambda: tell(prompt, user, "", saved))
    return saved.revision


def tell(prompt: Prompt, user: User, tab: str, saved: SavedDraft) -> None:
    """The person's other pages learn that the draft has changed."""
    if saved.stored == "ignored":
        return
    payload = {"type": "draft", "prompt": prompt.uid, "tab": tab, "revision": saved.revision}
    publish.send([publish.frame(groups.user_group(user.pk), payload)])
