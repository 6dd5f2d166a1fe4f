"""What a prepared query reads is what the ORM reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.db.models import Count, Q
from django.utils import timezone

from conftest import ASK_THREE
from controlui.chat.models import Agent, Conversation, Message, Token, User
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


def test_lists_of_any_length_and_moments(ask: Asks) -> None:
    prompts = [ask() for _prompt in range(5)]
    prepared = Prepared(
        lambda ids, at: Prompt.objects.filter(pk__in=ids, closes_at__gt=at).order_by("pk"), list, dt.datetime
    )
    long_ago, far_off = timezone.now() - dt.timedelta(days=9), timezone.now() + dt.timedelta(days=9)
    for number in (1, 2, 3, 5, 1):
        wanted = [prompt.pk for prompt in prompts[:number]]
        assert [found.pk for found in prepared(wanted, long_ago)] == wanted
        assert prepared(wanted, far_off) == []
    assert sorted(prepared.compiled) == [(1,), (2,), (4,), (8,)]


def test_values_and_annotations(ask: Asks, conversation: Conversation) -> None:
    ask()
    prompt = ask(**ASK_THREE)
    counted = Prepared(
        lambda place: Prompt.objects.filter(conversation=place).annotate(n=Count("questions")).order_by("pk"), int
    )
    assert [found.n for found in counted(conversation.pk)] == [1, 3]
    values = Prepared(
        lambda place: (
            Prompt.objects.filter(conversation=place)
            .annotate(n=Count("questions"))
            .order_by("pk")
            .values_list("n", "uid", "created_at")
        ),
        int,
    )
    assert values(conversation.pk)[1] == (3, prompt.uid, prompt.created_at)
