"""The hash chain of prompt events: one per conversation, from its first event on.

Each link covers the one before, the facts of the event, and a salted digest of its content; so content and
salt can be deleted later without breaking the chain, and nobody can guess deleted content from its digest.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import secrets
from typing import Any

from controlui.chat.models import Agent, User
from controlui.chat.transitions import Change, statements

from .models import Prompt, PromptEvent


def canonical(value: Any) -> bytes:
    """One JSON text per value: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def content_digest(salt: str, content: Any) -> str:
    """What the chain keeps of an event's content."""
    return hashlib.sha256(salt.encode() + b"\0" + canonical(content)).hexdigest()


def link_digest(event: PromptEvent, conversation_uid: str) -> str:
    """The digest of a link, from the row's own values."""
    facts = {
        "conversation": conversation_uid,
        "number": event.number,
        "prompt": event.prompt_uid,
        "kind": event.kind,
        "user": event.user_id,
        "agent": event.agent_id,
        "surface": event.surface,
        "at": event.at.astimezone(dt.UTC).isoformat(timespec="microseconds"),
        "content": event.content_digest,
        "previous": event.previous,
    }
    return hashlib.sha256(canonical(facts)).hexdigest()


def append(
    opened: Change,
    prompt: Prompt,
    kind: str,
    *,
    user: User | None = None,
    agent: Agent | None = None,
    surface: str = "",
    content: dict[str, Any] | None = None,
) -> PromptEvent:
    """Adds the audit row of a change to the conversation's chain, under the conversation's lock."""
    conversation = opened.conversation
    salt = secrets.token_hex(16)
    event = PromptEvent(
        conversation=conversation,
        number=conversation.event_count + 1,
        prompt_uid=prompt.uid,
        kind=kind,
        user=user,
        agent=agent,
        surface=surface,
        at=opened.at,
        salt=salt,
        content=content or {},
        content_digest=content_digest(salt, content or {}),
        previous=conversation.event_head,
    )
    event.digest = link_digest(event, conversation.uid)
    statements.insert(event)
    conversation.event_count = event.number
    conversation.event_head = event.digest
    return event
