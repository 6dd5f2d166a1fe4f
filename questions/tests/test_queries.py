"""The dock, summaries and records, as data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.http import QueryDict
from django.utils import timezone

from conftest import ASK_THREE
from controlui.chat.access import Actor, visible_streams
from controlui.chat.models import Agent, Conversation, User
from controlui.chat.transitions import create_agent
from questions import queries
from questions.models import Draft, Prompt
from questions.queries import DockView
from questions.transitions import answer_prompt, expire_due_prompts, save_draft, skip_prompt, withdraw_prompt

Asks = Callable[..., Prompt]


def dock_of(conversation: Conversation, user: User, at: dt.datetime | None = None, **view: Any) -> queries.Dock | None:
    """The dock as a page of this person draws it."""
    streams = visible_streams(Actor(user=user), conversation)
    return queries.dock(conversation, user, DockView(**view), streams=streams, at=at)


def must(dock: queries.Dock | None) -> queries.Dock:
    """The dock, which is there."""
    assert dock is not None
    return dock


def test_nothing_waits(conversation: Conversation, ana: User, vic: User, ask: Asks) -> None:
    assert dock_of(conversation, ana) is None
    ask()
    assert dock_of(conversation, vic) is None


def test_requests_come_oldest_first_blocking_before_async(conversation: Conversation, ana: User, ask: Asks) -> None:
    first, second, third = ask(), ask(questions=ASK_THREE["questions"]), ask()
    Prompt.objects.filter(pk=first.pk).update(mode="async")
    dock = must(dock_of(conversation, ana))
    assert (dock.prompt, dock.number, dock.requests, dock.unanswered) == (second, 1, 3, 5)
    assert (dock.next_uid, dock.previous_uid) == (third.uid, first.uid)
    wrapped = must(dock_of(conversation, ana, prompt=first.uid))
    assert (wrapped.number, wrapped.next_uid, wrapped.previous_uid) == (3, second.uid, third.uid)
    assert [wrapped.covers_composer, dock.covers_composer] == [False, True]


def test_an_unknown_ended_or_forbidden_prompt_falls_back_to_the_first(
    conversation: Conversation, ana: User, ask: Asks
) -> None:
    ended, first = ask(), ask()
    skip_prompt(prompt=ended, user=ana, surface="web")
    elsewhere = ask(sessionKey="other")
    for uid in (ended.uid, elsewhere.uid, "nonsense"):
        dock = must(dock_of(conversation, ana, prompt=uid, step=3, folded=True))
        assert (dock.prompt, dock.step, dock.view.folded) == (first, 1, False)
    folded = must(dock_of(conversation, ana, folded=True))
    assert folded.view.folded


@pytest.mark.parametrize(
    ("query", "step"), [("step=2", 2), ("step=99", 3), ("step=0", 1), ("step=-1", 1), ("step=٣", 1)]
)
def test_a_step_is_within_the_prompt(conversation: Conversation, ana: User, ask: Asks, query: str, step: int) -> None:
    ask(questions=ASK_THREE["questions"])
    view = DockView.from_query(QueryDict(query))
    streams = visible_streams(Actor(user=ana), conversation)
    dock = must(queries.dock(conversation, ana, view, streams=streams))
    assert (dock.step, dock.steps, dock.question.number) == (step, 3, step)
    assert [state.number for state in dock.others] == [number for number in (1, 2, 3) if number != step]


def test_typed_text_equal_to_a_label_stays_typed_text(conversation: Conversation, ana: User, ask: Asks) -> None:
    prompt = ask()
    save_draft(
        prompt=prompt,
        user=ana,
        values={"deploy_target": {"chosen": [], "text": "Production"}},
        tab="t",
        tab_seq=1,
        revision=0,
    )
    question = must(dock_of(conversation, ana)).question
    assert [option.chosen for option in question.options] == [False, False]
    assert (question.other_text, question.other_active, question.values) == ("Production", True, ["Production"])


def test_a_chosen_option_wins_over_typed_text_and_the_text_stays(
    conversation: Conversation, ana: User, ask: Asks
) -> None:
    prompt = ask(questions=ASK_THREE["questions"])
    values = {"where": {"chosen": ["o2"], "text": "elsewhere"}, "extras": {"chosen": ["o3", "o1"], "text": "and more"}}
    save_draft(prompt=prompt, user=ana, values=values, tab="t", tab_seq=1, revision=0)
    single = must(dock_of(conversation, ana, step=1)).question
    assert (single.values, single.kept_text, single.other_text) == (["B"], True, "elsewhere")
    multi = must(dock_of(conversation, ana, step=2)).question
    assert (multi.values, multi.kept_text) == (["Tests", "Logs", "and more"], False)


def test_time_left_is_the_servers(conversation: Conversation, ana: User, ask: Asks) -> None:
    prompt = ask(timeoutSeconds=600)
    at = prompt.created_at + dt.timedelta(seconds=1)
    assert must(dock_of(conversation, ana, at=at)).seconds_left == 599
    assert dock_of(conversation, ana, at=prompt.created_at + dt.timedelta(seconds=600)) is None


def summary_of(prompt: Prompt, user: User) -> queries.Summary:
    """The prompt's summary for a person."""
    loaded = queries.prompts_of([prompt.message])[prompt.message_id]
    draft = Draft.objects.filter(prompt=prompt, user=user).first()
    return queries.summary(loaded, user, draft, timezone.now())


def test_summaries_say_who_how_and_from_where(ask: Asks, ana: User, ben: User, agent: Agent) -> None:
    prompts = [ask(timeoutSeconds=30) for _end in range(4)]
    answer_prompt(prompt=prompts[0], user=ben, answers={"deploy_target": ["Production"]}, surface="api")
    skip_prompt(prompt=prompts[1], user=ana, surface="web")
    withdraw_prompt(prompt=prompts[2], agent=agent, surface="api")
    expire_due_prompts(at=timezone.now() + dt.timedelta(seconds=31))
    found = [summary_of(prompt, ana) for prompt in prompts]
    assert [(item.outcome, item.who, item.surface_name) for item in found] == [
        ("answered", "ben", "the API"),
        ("skipped", "ana", "the web page"),
        ("cancelled", "builder", ""),
        ("expired", "", ""),
    ]
    assert found[2].explanation == "The agent withdrew the question."
    assert {item.questions[0].text for item in found} == {"Where should I deploy?"}
    assert [item.questions[0].values for item in found] == [["Production"], [], [], []]


def test_what_was_typed_for_nothing_stays_readable_for_who_typed_it(ask: Asks, ana: User, ben: User) -> None:
    prompt = ask()
    values = {"deploy_target": {"chosen": ["o1"], "text": "half a thou"}}
    save_draft(prompt=prompt, user=ana, values=values, tab="t", tab_seq=1, revision=0)
    answer_prompt(prompt=prompt, user=ben, answers={"deploy_target": ["Production"]}, surface="web")
    assert summary_of(prompt, ana).leftover_text == "Staging (Recommended)\nhalf a thou"
    assert summary_of(prompt, ben).leftover == []


def test_text_typed_beside_the_option_that_was_sent_stays_too(ask: Asks, ana: User) -> None:
    prompt = ask()
    values = {"deploy_target": {"chosen": ["o2"], "text": "mine"}}
    save_draft(prompt=prompt, user=ana, values=values, tab="t", tab_seq=1, revision=0)
    answer_prompt(prompt=prompt, user=ana, answers={"deploy_target": ["Production"]}, surface="web")
    assert summary_of(prompt, ana).leftover_text == "mine"
    other = ask()
    save_draft(prompt=other, user=ana, values=values, tab="t", tab_seq=1, revision=0)
    answer_prompt(prompt=other, user=ana, answers={"deploy_target": ["mine"]}, surface="web")
    assert summary_of(other, ana).leftover_text == "Production"


def test_what_two_tabs_typed_at_once_stays_from_both(ask: Asks, ana: User, agent: Agent) -> None:
    prompt = ask()
    for tab in ("one", "two"):
        values = {"deploy_target": {"chosen": [], "text": f"typed in {tab}"}}
        save_draft(prompt=prompt, user=ana, values=values, tab=tab, tab_seq=1, revision=0)
    withdraw_prompt(prompt=prompt, agent=agent, surface="api")
    assert summary_of(prompt, ana).leftover_text == "typed in one\ntyped in two"


def test_agents_are_told_no_answer_and_people_the_end(ask: Asks, ana: User, agent: Agent) -> None:
    skipped, pending = ask(), ask()
    skip_prompt(prompt=skipped, user=ana, surface="web")
    loaded = Prompt.objects.get(pk=skipped.pk)
    assert queries.record(loaded, for_agent=True)["status"] == "no_answer"
    assert queries.record(loaded)["status"] == "skipped"
    for status, expected in (("no_answer", [skipped]), ("skipped", [skipped]), ("pending", [pending]), ("expired", [])):
        assert list(queries.listed(Actor(agent=agent), status=status)) == expected
    at = timezone.now() + dt.timedelta(seconds=901)
    assert list(queries.listed(Actor(agent=agent), status="expired", at=at)) == [pending]
    assert list(queries.listed(Actor(agent=agent), status="pending", at=at)) == []


def test_two_expiries_in_a_row_are_told(ask: Asks) -> None:
    first, second = ask(timeoutSeconds=30), ask(timeoutSeconds=30)
    expire_due_prompts(at=timezone.now() + dt.timedelta(seconds=31))
    messages = [queries.record(Prompt.objects.get(pk=prompt.pk))["result"]["message"] for prompt in (first, second)]
    assert ["twice in a row" in message for message in messages] == [False, True]


@pytest.mark.parametrize("number", [1, 3])
def test_the_dock_costs_the_same_however_much_waits(
    conversation: Conversation, ana: User, ask: Asks, number: int, django_assert_num_queries: Any
) -> None:
    for _prompt in range(number):
        ask(questions=ASK_THREE["questions"])
    streams = visible_streams(Actor(user=ana), conversation)
    with django_assert_num_queries(4):
        queries.dock(conversation, ana, DockView(), streams=streams, at=timezone.now())


def test_badges_count_only_what_the_person_may_answer(
    conversation: Conversation, ana: User, ben: User, sam: User, ask: Asks
) -> None:
    ask(), ask(), ask(sessionKey="not bens")
    create_agent(name="other", owner=sam)
    counts = {
        user.username: (
            queries.waiting_counts(Actor(user=user)).get(conversation.pk, 0),
            queries.waiting_total(Actor(user=user)),
        )
        for user in (ana, ben, sam)
    }
    assert counts == {"ana": (2, 3), "ben": (2, 2), "sam": (0, 0)}
