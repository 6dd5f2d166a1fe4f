"""What the hand-written statements read is what the ORM reads."""

from __future__ import annotations

import pytest
from django.db import models

from controlui.chat.models import Conversation, Stream, User
from controlui.chat.transitions import statements


def columns(row: models.Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


@pytest.mark.parametrize("prompts", [False, True])
def test_a_stream_is_read_whole(conversation: Conversation, ana: User, prompts: bool) -> None:
    audience = ana if prompts else None
    Stream.objects.update_or_create(
        conversation=conversation, prompts=prompts, audience=audience, defaults={"version": 7, "announced": 5}
    )
    stored = Stream.objects.get(conversation=conversation, prompts=prompts, audience=audience)
    found = statements.find_stream(conversation, prompts=prompts, audience_id=audience.pk if audience else None)
    assert found is not None
    assert columns(found) == columns(stored)


def test_a_locked_conversation_is_read_whole(conversation: Conversation) -> None:
    assert columns(statements.lock_conversation(conversation)) == columns(Conversation.objects.get(pk=conversation.pk))
