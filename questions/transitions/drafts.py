"""Drafts: what a person ticks and types, saved while they do (design rule 4). No conversation lock, no version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.db import transaction

from controlui.chat import alternates, clock
from controlui.chat.alternates import SavedDraft
from controlui.chat.models import User
from controlui.chat.transitions import change
from controlui.live import groups, publish
from questions.models import Draft, Prompt

# More than an answer may have: a text that is too long is refused on Submit, not cut while it is typed.
TEXT_MAX = 100_000
Values = dict[str, dict[str, Any]]


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
    """Keeps a draft (see alternates.keep), and tells the person's other tabs. Raises TooManyVersions."""
    values = known_values(prompt, values)
    at = at or clock.now()
    with transaction.atomic():
        Draft.objects.get_or_create(prompt=prompt, user=user, defaults={"updated_at": at})
        draft = Draft.objects.select_for_update().get(prompt=prompt, user=user)
        before = draft.revision
        saved = alternates.keep(
            draft, "values", values, tab=tab[:64], tab_seq=tab_seq, revision=revision, take_over=take_over
        )
        draft.updated_at = at
        if saved.stored != "ignored":
            # What keeps a reminder in this person's dock when it retires.
            draft.edited = bool(draft.values or draft.alternates)
        if draft.edited and draft.revision != before:
            # It retired under their hands, before this was saved: it stays where they type.
            draft.kept |= Prompt.objects.filter(pk=prompt.pk, retired_at__isnull=False).exists()
        draft.save(update_fields=["values", "revision", "tab", "tabs", "alternates", "edited", "kept", "updated_at"])
        transaction.on_commit(lambda: tell(prompt, user, tab, saved))
    if prompt.status != Prompt.Status.PENDING and saved.stored != "ignored":
        redraw_summary(prompt, at)
    return saved


def redraw_summary(prompt: Prompt, at: dt.datetime) -> None:
    """What was typed when a prompt ended may arrive after the page has fetched its summary: it shows that text."""
    with change(prompt.conversation, at) as opened:
        opened.redraw(prompt.message)


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
    return resolve_alternate(prompt, user, at, alternates.swap)


def drop_alternate(*, prompt: Prompt, user: User, at: dt.datetime | None = None) -> int:
    """Keeps this text and forgets the one edited elsewhere. Returns the revision."""
    return resolve_alternate(prompt, user, at, alternates.drop)


def resolve_alternate(prompt: Prompt, user: User, at: dt.datetime | None, resolve: Callable[[Draft, str], bool]) -> int:
    """One press on the notice "Also edited elsewhere"."""
    with transaction.atomic():
        draft = Draft.objects.select_for_update().filter(prompt=prompt, user=user).first()
        if draft is None:
            return 0
        if resolve(draft, "values"):
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
