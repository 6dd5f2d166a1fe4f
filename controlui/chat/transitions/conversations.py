"""Conversations, and what agents say in them."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from controlui.chat import alternates, clock, hooks
from controlui.chat.alternates import SavedDraft
from controlui.chat.errors import KeyReused, RunEnded, invalid
from controlui.chat.ids import digest
from controlui.chat.models import Agent, ComposerDraft, Conversation, Membership, Message, Run, Stream, User
from controlui.live import groups, publish

from . import statements
from .change import Change, change
from .runs import end_run, find_run

SESSIONLESS_KEY = "\N{SYMBOL FOR NULL}no-session"
KEY_MAX = 200
TEXT_MAX = 100_000


def clean_key(key: str) -> str:
    """A sessionKey, trimmed. Raises InvalidInput naming the rule it breaks."""
    key = key.strip()
    if not 1 <= len(key) <= KEY_MAX:
        raise invalid("sessionKey", "length", f"A sessionKey has 1 to {KEY_MAX} characters.", limit=KEY_MAX)
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in key):
        raise invalid("sessionKey", "control_character", "A sessionKey has no control characters.")
    if key == SESSIONLESS_KEY:
        raise invalid("sessionKey", "reserved", "This sessionKey is reserved.")
    return key


def open_conversation(
    *, agent: Agent, key: str = "", created_by: User | None = None, sessionless: bool = False
) -> Conversation:
    """The agent's conversation of this key, made if it is new; `sessionless` is its "(no session)" one."""
    key = SESSIONLESS_KEY if sessionless else clean_key(key)
    found = statements.find_conversation(agent.pk, key)
    if found is None:
        now = clock.now()
        try:
            with transaction.atomic():
                found = Conversation.objects.create(
                    agent=agent,
                    key=key,
                    title="(no session)" if sessionless else "",
                    sessionless=sessionless,
                    created_by=created_by,
                    created_at=now,
                    active_at=now,
                    stamped_at=now,
                )
                Stream.objects.create(conversation=found)
        except IntegrityError:
            found = Conversation.objects.get(agent=agent, key=key)
    found.agent = agent
    return found


def start_conversation(*, agent: Agent, user: User, key: str) -> Conversation:
    """A conversation that a person starts, and takes part in; what runs acting for them ask there is theirs (seed,
    guests). `key`, made when the form was drawn: the same press again finds the first."""
    with transaction.atomic():
        found = open_conversation(agent=agent, key=f"web-{digest(f'{user.pk}:{key}')[:22]}", created_by=user)
        Membership.objects.get_or_create(conversation=found, user=user)
    return found


@contextmanager
def change_of_session(agent: Agent, key: str, at: dt.datetime | None) -> Iterator[Change]:
    """A change of the agent's conversation of this key. A new one is made with the change, or not at all."""
    with transaction.atomic(), change(open_conversation(agent=agent, key=key), at) as opened:
        yield opened


def clean_text(text: str, path: str = "text") -> str:
    """A message's text. Raises InvalidInput when blank, too long, or not storable."""
    if not text.strip():
        raise invalid(path, "blank", "The text is empty.")
    if len(text) > TEXT_MAX:
        raise invalid(path, "length", f"The text has at most {TEXT_MAX} characters.", limit=TEXT_MAX, length=len(text))
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise invalid(path, "character", "The text has a NUL or a lone surrogate.")
    return text


def say(
    *,
    agent: Agent,
    session_key: str,
    text: str,
    kind: str = Message.Kind.REPLY,
    run_id: str | None = None,
    key: str | None = None,
    at: dt.datetime | None = None,
) -> tuple[Message, bool]:
    """Saves what an agent says; `(message, created)`. A repeat of `key` with the same text is the first message.

    Raises InvalidInput, NotFound (run), RunEnded, KeyReused.
    """
    text = clean_text(text)
    if kind not in {Message.Kind.REPLY, Message.Kind.COMMENTARY}:
        raise invalid("kind", "unknown_kind", 'The kind is "reply" or "commentary".')
    # By its digest: the longest key and the prefix together would not fit the column.
    saved_as = f"agent:{digest(key)}" if key else None
    with change_of_session(agent, session_key, at) as opened:
        first = saved_before(opened.conversation, saved_as)
        if first is not None:
            if (first.text, first.kind) != (text, kind):
                raise KeyReused
            return first, False
        run = find_run(agent, run_id, opened.conversation) if run_id else None
        if run is not None and run.status != Run.Status.RUNNING:
            raise RunEnded
        message = opened.add_message(stream=opened.stream(), kind=kind, text=text, run=run, idempotency_key=saved_as)
    return message, True


def saved_before(conversation: Conversation, key: str | None) -> Message | None:
    """The message that this idempotency key saved earlier, if any."""
    if key is None:
        return None
    return (
        Message.objects.select_related("author", "run", "reply_to")
        .filter(conversation=conversation, idempotency_key=key)
        .first()
    )


def reset_conversation(*, conversation: Conversation, at: dt.datetime | None = None) -> Conversation:
    """Starts a new generation: running runs end as aborted, whatever they or nobody asked is cancelled."""
    with change(conversation, at) as opened:
        running = Run.objects.select_for_update().filter(conversation=opened.conversation, status=Run.Status.RUNNING)
        for run in running.order_by("pk"):
            end_run(opened, run, Run.Status.ABORTED, reason="reset")
        for tell in hooks.conversation_reset:
            tell(opened)
        opened.conversation.generation += 1
        opened.touch(opened.stream())
    return opened.conversation


@contextmanager
def composer_draft(conversation: Conversation, user: User, tab: str = "") -> Iterator[ComposerDraft]:
    """What this person has typed here, locked, and saved afterwards. Where what other tabs show of it has changed by
    more than this tab's typing, they are told."""
    now = clock.now()
    with transaction.atomic():
        ComposerDraft.objects.get_or_create(conversation=conversation, user=user, defaults={"updated_at": now})
        draft = ComposerDraft.objects.select_for_update().get(conversation=conversation, user=user)
        before = (draft.tab, draft.alternates)
        yield draft
        draft.updated_at = now
        draft.save(update_fields=["text", "revision", "tab", "tabs", "alternates", "updated_at"])
        if (draft.tab, draft.alternates) != before:
            payload = {"type": "draft", "prompt": "", "tab": tab, "revision": draft.revision}
            transaction.on_commit(lambda: publish.send([publish.frame(groups.user_group(user.pk), payload)]))


def save_composer_draft(
    *,
    conversation: Conversation,
    user: User,
    text: str,
    tab: str = "",
    tab_seq: int = 0,
    revision: int = 0,
    take_over: bool = False,
) -> SavedDraft:
    """Keeps what a person typed and has not sent (see alternates.keep). Raises TooManyVersions."""
    text = text[:TEXT_MAX].replace("\x00", "")
    with composer_draft(conversation, user, tab) as draft:
        return alternates.keep(
            draft, "text", text, tab=tab[:64], tab_seq=tab_seq, revision=revision, take_over=take_over
        )


def use_composer_alternate(*, conversation: Conversation, user: User) -> None:
    """Swaps the composer's text with one that was edited elsewhere: neither is lost."""
    with composer_draft(conversation, user) as draft:
        alternates.swap(draft, "text")


def drop_composer_alternate(*, conversation: Conversation, user: User) -> None:
    """Keeps the composer's text and forgets the one edited elsewhere."""
    with composer_draft(conversation, user) as draft:
        alternates.drop(draft, "text")


def clear_composer_draft(
    *, conversation: Conversation, user: User, text: str, tab: str, tab_seq: int, revision: int
) -> None:
    """After a message was sent: its text goes, and what another tab typed stays (see alternates.sent)."""
    with composer_draft(conversation, user, tab) as draft:
        alternates.sent(draft, "text", text, tab=tab[:64], tab_seq=tab_seq, revision=revision)


def restore_composer_text(*, conversation: Conversation, user: User, text: str) -> None:
    """A message that was taken back is unsent text again: in the composer if that is empty, else kept beside it."""
    with composer_draft(conversation, user) as draft:
        alternates.put_back(draft, "text", text[:TEXT_MAX])
