"""Races for real: threads on PostgreSQL, where two transactions truly run at once (style rule 42)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from controlui.chat.models import Agent, Message, Stream, User
from controlui.chat.transitions import create_agent, finish_run, open_run, say
from controlui.errors import ControlUIError
from outbox.models import Delivery
from outbox.transitions import enqueue
from questions import schema
from questions.models import AskKey, Draft, Prompt, PromptEvent
from questions.tests.test_events import broken_at
from questions.transitions import (
    answer_prompt,
    expire_due_prompts,
    extend_prompt,
    open_prompt,
    save_draft,
    skip_prompt,
    withdraw_prompt,
)

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

Asks = Callable[..., Prompt]
ROUNDS = 15


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Runs the calls in as many threads, released together; results, or the errors that were raised."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=20)
            return call()
        except ControlUIError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def fresh(prompt: Prompt) -> Prompt:
    """The prompt as a separate request would read it."""
    return Prompt.objects.select_related("conversation__agent", "message__stream", "run").get(pk=prompt.pk)


def ends_of(prompt: Prompt) -> list[str]:
    """The kinds of the prompt's end events."""
    ends = PromptEvent.objects.filter(prompt_uid=prompt.uid).exclude(kind__in=["opened", "extended", "moved"])
    return list(ends.values_list("kind", flat=True))


def test_twenty_answers_at_once_have_one_winner(ask: Asks, ana: User) -> None:
    prompt = ask()
    answers = [{"deploy_target": [f"answer {number}"]} for number in range(20)]
    prompts = [fresh(prompt) for _answer in answers]
    results = at_once(
        [
            partial(answer_prompt, prompt=copy, user=ana, answers=given, surface="api")
            for copy, given in zip(prompts, answers, strict=True)
        ]
    )
    winners = [answers[place] for place, result in enumerate(results) if isinstance(result, tuple)]
    losers = [result for result in results if isinstance(result, ControlUIError)]
    assert (len(winners), len(losers)) == (1, 19)
    assert {loser.code for loser in losers} == {"already_resolved"}
    assert {str(loser.extra["question"]["result"]["answers"]["answers"]) for loser in losers} == {str(winners[0])}
    assert fresh(prompt).answers == winners[0]
    assert ends_of(prompt) == ["answered"]


def every_end(prompt: Prompt, ana: User, ben: User, agent: Agent) -> list[Callable[[], Any]]:
    """Every way a prompt of a run can end, each with its own copy of the row."""
    one, two, three = (fresh(prompt) for _copy in range(3))
    assert prompt.run is not None
    run_id, late = prompt.run.client_id, timezone.now() + dt.timedelta(seconds=31)
    return [
        lambda: answer_prompt(prompt=one, user=ana, answers={"deploy_target": ["x"]}, surface="web"),
        lambda: skip_prompt(prompt=two, user=ben, surface="web"),
        lambda: withdraw_prompt(prompt=three, agent=agent, surface="api"),
        lambda: finish_run(actor_agent=agent, client_id=run_id, status="aborted"),
        lambda: expire_due_prompts(at=late),
    ]


def test_every_end_against_every_other(ask: Asks, ana: User, ben: User, agent: Agent) -> None:
    for number in range(ROUNDS):
        run, _created = open_run(agent=agent, session_key="main", client_id=f"run-{number}")
        prompt = ask(runId=run.client_id, timeoutSeconds=30)
        calls = every_end(prompt, ana, ben, agent)
        at_once(calls[number % 5 :] + calls[: number % 5])
        ended = fresh(prompt)
        assert ended.status in {"answered", "skipped", "cancelled", "expired"}
        assert len(ends_of(prompt)) == 1
        assert (ended.status == "answered") == (ended.answers is not None)
    assert broken_at(prompt.conversation) == []


def test_a_double_press_with_one_receipt_is_one_answer_and_told_so(ask: Asks, ana: User) -> None:
    prompt = ask()
    copies = [fresh(prompt) for _press in range(8)]
    results = at_once(
        [
            partial(
                answer_prompt,
                prompt=copy,
                user=ana,
                answers={"deploy_target": ["x"]},
                surface="web",
                resolution_id="one press",
            )
            for copy in copies
        ]
    )
    assert sorted(first for _prompt, first in results) == [False] * 7 + [True]
    assert ends_of(prompt) == ["answered"]


def test_parallel_repeats_of_an_ask_open_one_prompt(agent: Agent, conversation: object) -> None:
    question = {"id": "q", "header": "Q", "question": "Q?", "options": [{"label": "A"}, {"label": "B"}]}
    for number in range(ROUNDS):
        body = {"questions": [question], "sessionKey": f"session {number}"}
        chosen = {**body, "id": f"chosen-by-agent-{number:04}"}
        for wire, key in ((body, f"key-{number}"), (chosen, None)):
            parsed, body_digest = schema.parse_ask(wire), schema.body_digest(wire)
            results = at_once(
                [
                    partial(open_prompt, agent=agent, ask=parsed, body_digest=body_digest, key=key)
                    for _repeat in range(5)
                ]
            )
            assert len({prompt.pk for prompt, _created in results}) == 1
            assert sorted(created for _prompt, created in results) == [False] * 4 + [True]
    assert Prompt.objects.count() == 2 * ROUNDS
    assert AskKey.objects.count() == ROUNDS


def test_one_key_for_two_sessions_at_once_opens_one(agent: Agent, conversation: object) -> None:
    question = {"id": "q", "header": "Q", "question": "Q?", "options": [{"label": "A"}, {"label": "B"}]}
    for number in range(ROUNDS):
        wires = [{"questions": [question], "sessionKey": f"{number}-{side}"} for side in "ab"]
        results = at_once(
            [
                partial(
                    open_prompt,
                    agent=agent,
                    ask=schema.parse_ask(wire),
                    body_digest=schema.body_digest(wire),
                    key=f"k{number}",
                )
                for wire in wires
            ]
        )
        assert sorted(type(result).__name__ for result in results) == ["KeyReused", "tuple"]
    assert Prompt.objects.count() == ROUNDS


def test_more_time_against_expiry_is_one_or_the_other(ask: Asks, ana: User) -> None:
    for _round in range(ROUNDS):
        prompt = ask(timeoutSeconds=30, maxTimeoutSeconds=600)
        late = timezone.now() + dt.timedelta(seconds=31)
        copy = fresh(prompt)
        at_once([partial(extend_prompt, prompt=copy, user=ana, surface="web"), partial(expire_due_prompts, at=late)])
        ended = fresh(prompt)
        kinds = set(PromptEvent.objects.filter(prompt_uid=prompt.uid).values_list("kind", flat=True))
        assert (ended.status, kinds) in [("pending", {"opened", "extended"}), ("expired", {"opened", "expired"})]
        skip_prompt(prompt=ended, user=ana, surface="web") if ended.status == "pending" else None


def test_first_saves_of_two_tabs_at_once_lose_nothing(ask: Asks, ana: User) -> None:
    for _round in range(ROUNDS):
        prompt = ask()
        at_once(
            [
                partial(
                    save_draft,
                    prompt=prompt,
                    user=ana,
                    values={"deploy_target": {"chosen": [], "text": f"typed in {tab}"}},
                    tab=tab,
                    tab_seq=1,
                    revision=0,
                )
                for tab in ("one", "two", "three")
            ]
        )
        draft = Draft.objects.get(prompt=prompt, user=ana)
        kept = [draft.values, *(other["values"] for other in draft.alternates)]
        assert sorted(values["deploy_target"]["text"] for values in kept) == [
            "typed in one",
            "typed in three",
            "typed in two",
        ]


def test_versions_and_places_have_no_gap_and_no_double(agent: Agent, ana: User, conversation: object) -> None:
    results = at_once([partial(say, agent=agent, session_key="main", text=f"message {number}") for number in range(16)])
    messages = [message for message, _created in results]
    stream = Stream.objects.get(pk=messages[0].stream_id)
    assert sorted(message.version for message in messages) == list(range(1, 17))
    assert sorted(message.seq for message in messages) == list(range(1, 17))
    assert stream.version == 16
    times = list(Message.objects.order_by("seq").values_list("created_at", flat=True))
    assert times == sorted(set(times))


def test_one_press_of_send_replayed_is_one_message(agent: Agent, ana: User, conversation: Any) -> None:
    results = at_once([lambda: enqueue(conversation=conversation, author=ana, text="go", key="k")] * 10)
    assert sorted(created for _delivery, created in results) == [False] * 9 + [True]
    assert (Message.objects.count(), Delivery.objects.count()) == (0, 1)


def test_conversations_do_not_wait_for_each_other(ask: Asks, ana: User) -> None:
    from django.db import transaction

    from controlui.chat.models import Conversation

    create_agent(name="second", owner=ana)
    held, free = ask(), ask(sessionKey="other")
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=held.conversation_id)
        (result,) = at_once(
            [lambda: answer_prompt(prompt=fresh(free), user=ana, answers={"deploy_target": ["x"]}, surface="api")]
        )
    assert result[1] is True
