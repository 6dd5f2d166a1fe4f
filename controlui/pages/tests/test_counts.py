"""Literal numbers of queries at one row and at three (style rule 14): what a page costs does not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlui.chat.access import Actor
from controlui.chat.models import Conversation, User
from controlui.chat.transitions import open_run, say
from outbox.transitions import enqueue
from questions.access import get_prompt_for
from questions.models import Prompt
from questions.transitions import save_draft, skip_prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
PAGE, LIVE_SAME, LIVE_CHANGED, OLDER = 18, 9, 23, 10


@contextmanager
def queries(number: int) -> Iterator[None]:
    """So many, but for those that ask PostgreSQL for the time: all hosts share its clock."""
    with CaptureQueriesContext(connection) as seen:
        yield
    asked = [query["sql"] for query in seen if "clock_timestamp" not in query["sql"]]
    assert len(asked) == number, "\n".join(asked)


def fill(conversation: Conversation, ana: User, ask: Ask, number: int) -> None:
    """`number` of everything that a page shows."""
    agent = conversation.agent
    open_run(agent=agent, session_key="main", client_id="r")
    for _note in range(number):
        say(agent=agent, session_key="main", text="working", kind="commentary", run_id="r")
    for place in range(number):
        enqueue(conversation=conversation, author=ana, text="hello", key=f"k{place}")
        say(agent=agent, session_key="main", text="done")
        ended = get_prompt_for(Actor(user=ana), ask().uid)
        save_draft(
            prompt=ended,
            user=ana,
            values={"deploy_target": {"chosen": ["o1"], "text": "x"}},
            tab="t",
            tab_seq=1,
            revision=0,
        )
        skip_prompt(prompt=ended, user=ana, surface="web")
        ask()
        ask(sessionKey=f"other-{place}")


@pytest.mark.parametrize("number", [1, 3])
def test_the_page(ana: User, conversation: Conversation, ask: Ask, number: int) -> None:
    fill(conversation, ana, ask, number)
    page = Browser(ana).open(f"/c/{conversation.uid}/")
    with queries(PAGE):
        page.client.get(f"/c/{conversation.uid}/")


@pytest.mark.parametrize("number", [1, 3])
def test_live(ana: User, conversation: Conversation, ask: Ask, number: int) -> None:
    page = Browser(ana).open(f"/c/{conversation.uid}/")
    fill(conversation, ana, ask, number)
    live = next(given for _tag, given in page.page.tags if given.get("id") == "live")
    with queries(LIVE_CHANGED):
        page.client.get(live["data-url"], {"s": live["data-streams"].split(), "d": live["data-drafts"]})
    page.open(f"/c/{conversation.uid}/")
    live = next(given for _tag, given in page.page.tags if given.get("id") == "live")
    with queries(LIVE_SAME):
        response = page.client.get(live["data-url"], {"s": live["data-streams"].split(), "d": live["data-drafts"]})
    assert response.status_code == 304


@pytest.mark.parametrize("number", [1, 3])
def test_older(ana: User, conversation: Conversation, ask: Ask, number: int) -> None:
    fill(conversation, ana, ask, number)
    newest, _created = say(agent=conversation.agent, session_key="main", text="newest")
    client = Browser(ana).client
    with queries(OLDER):
        client.get(f"/c/{conversation.uid}/older?before={newest.uid}")
