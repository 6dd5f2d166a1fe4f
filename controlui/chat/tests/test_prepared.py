"""What a prepared query reads is what the ORM reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db.models import Q

from controlui.chat.models import Agent, Message, Token, User
from controlui.chat.prepared import Prepared
from controlui.chat.transitions import create_token
from questions.models import Prompt, Question

pytestmark = pytest.mark.django_db

Asks = Callable[..., Prompt]


def values(row: object) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}  # type: ignore[attr-defined]


def test_rows_and_their_related_rows_are_read_whole(agent: Agent, ask: Asks) -> None:
    prompt, other = ask(), ask()
    prepared = Prepared(
        lambda owner, uid, chosen: (
            Prompt.objects.select_related("conversation__agent", "run", "message__stream")
            .filter(Q(uid=uid) | Q(client_id=chosen), agent=owner)
            .exclude(status="cancelled")
        ),
        int,
        str,
        str,
    )
    for wanted in (prompt, other, prompt):
        (found,) = prepared(agent.pk, wanted.uid, "nothing")
        stored = Prompt.objects.get(pk=wanted.pk)
        assert values(found) == values(stored)
        assert values(found.conversation) == values(stored.conversation)
        assert values(found.conversation.agent) == values(agent)
        assert values(found.message.stream) == values(stored.message.stream)
        assert found.run is None
    assert prepared(agent.pk + 1, prompt.uid, "nothing") == []
    assert prepared(agent.pk, "nothing", "nothing") == []


def test_json_and_times_are_converted(ask: Asks) -> None:
    prompt = ask()
    (question,) = Prepared(lambda pk: Question.objects.filter(prompt=pk), int)(prompt.pk)
    assert question.options == Question.objects.get(prompt=prompt).options
    (message,) = Prepared(lambda uid: Message.objects.filter(uid=uid), str)(prompt.message.uid)
    assert message.created_at == prompt.message.created_at


def test_an_empty_relation_stays_empty(ana: User) -> None:
    raw = create_token(user=ana)
    stored = Token.objects.get(user=ana)
    (found,) = Prepared(lambda pk: Token.objects.select_related("agent__owner", "user").filter(pk=pk), int)(stored.pk)
    assert (found.agent, found.user, bool(raw)) == (None, ana, True)


def test_a_parameter_that_the_query_lost_is_noticed() -> None:
    with pytest.raises(AssertionError, match="parameters"):
        Prepared(lambda pk, uid: Prompt.objects.filter(pk=pk), int, str)(1, "x")
