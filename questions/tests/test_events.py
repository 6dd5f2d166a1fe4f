"""The chain of prompt events, from the first one on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from controlui.chat.models import Conversation, User
from questions import events
from questions.models import Prompt, PromptEvent
from questions.transitions import answer_prompt, extend_prompt, skip_prompt

Asks = Callable[..., Prompt]


def chain(conversation: Conversation) -> list[PromptEvent]:
    """The conversation's events, in order."""
    return list(PromptEvent.objects.filter(conversation=conversation).order_by("number"))


def broken_at(conversation: Conversation) -> list[int]:
    """The numbers of links that do not hold."""
    previous, broken = "0" * 64, []
    for number, event in enumerate(chain(conversation), 1):
        holds = event.number == number and event.previous == previous
        holds = holds and event.digest == events.link_digest(event, conversation.uid)
        if event.salt:
            holds = holds and event.content_digest == events.content_digest(event.salt, event.content)
        if not holds:
            broken.append(event.number)
        previous = event.digest
    return broken


@pytest.fixture
def told(ask: Asks, ana: User, conversation: Conversation) -> Conversation:
    """A conversation with a few events."""
    first = ask(timeoutSeconds=60, maxTimeoutSeconds=600)
    extend_prompt(prompt=first, user=ana, surface="web")
    answer_prompt(prompt=first, user=ana, answers={"deploy_target": ["Production"]}, surface="api")
    skip_prompt(prompt=ask(), user=ana, surface="web")
    conversation.refresh_from_db()
    return conversation


def test_every_change_is_a_link(told: Conversation) -> None:
    assert [event.kind for event in chain(told)] == ["opened", "extended", "answered", "opened", "skipped"]
    assert broken_at(told) == []
    assert (told.event_count, told.event_head) == (5, chain(told)[-1].digest)


def test_a_link_says_who_from_where_and_what(told: Conversation, ana: User) -> None:
    answered = chain(told)[2]
    assert (answered.user, answered.agent, answered.surface) == (ana, None, "api")
    assert answered.content == {"reason": "answered", "answers": {"deploy_target": ["Production"]}}


def test_content_and_salt_can_go_and_the_chain_still_holds(told: Conversation) -> None:
    PromptEvent.objects.filter(conversation=told).update(content=None, salt="")
    assert broken_at(told) == []


@pytest.mark.parametrize(
    "change",
    [{"kind": "skipped"}, {"surface": "tui"}, {"user": None}, {"prompt_uid": "x"}, {"content": {"answers": 1}}],
)
def test_an_altered_event_is_found(told: Conversation, change: dict[str, object]) -> None:
    PromptEvent.objects.filter(conversation=told, number=3).update(**change)
    assert broken_at(told) == [3]


def test_a_missing_event_is_found(told: Conversation) -> None:
    PromptEvent.objects.filter(conversation=told, number=2).delete()
    assert 3 in broken_at(told)


def test_the_database_refuses_a_second_event_in_one_place(told: Conversation) -> None:
    event = chain(told)[0]
    event.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        event.save(force_insert=True)
