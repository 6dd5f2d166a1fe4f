"""The timeline as data: what a page that followed every version holds is what a fresh load shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlui.chat import queries
from controlui.chat.access import Actor, visible_streams
from controlui.chat.models import Agent, Conversation, User
from controlui.chat.queries import MessageRow, PromptRow, Row, WorkRow
from controlui.chat.transitions import finish_run, open_run, say
from controlui.errors import NotFound
from outbox.transitions import enqueue
from questions.models import Prompt

Asks = Callable[..., Prompt]


def shape(rows: list[Row]) -> list[Any]:
    """Rows as what a reader sees."""
    seen: list[Any] = []
    for row in rows:
        if isinstance(row, WorkRow):
            seen.append((row.id, row.at, row.finished, [message.text for message in row.messages]))
        elif isinstance(row, MessageRow | PromptRow):
            seen.append((row.id, row.at, row.message.kind, row.message.text))
        else:
            seen.append((row.id, row.at))
    return seen


def fresh(actor: Actor, conversation: Conversation, limit: int = 500) -> list[Row]:
    """The rows of a page that loads now."""
    return queries.timeline(visible_streams(actor, conversation), limit=limit).rows


class Page:
    """A page that only ever fetched what changed since the versions it had."""

    def __init__(self, actor: Actor, conversation: Conversation) -> None:
        self.actor, self.conversation = actor, conversation
        self.known: dict[str, int] = {}
        self.rows: dict[str, Row] = {}

    def catch_up(self) -> None:
        """One fetch: rows merge by id."""
        streams = visible_streams(self.actor, self.conversation)
        changed = queries.changed_messages(self.known, streams)
        assert changed is not None
        for row in queries.rows_for(changed):
            self.rows[row.id] = row
        self.known = {stream.uid: stream.version for stream in streams}

    def sorted(self) -> list[Row]:
        """What it shows: rows by their time."""
        return sorted(self.rows.values(), key=lambda row: row.at)


VERBS = st.lists(st.sampled_from(["reply", "note", "person", "ask", "finish", "fetch", "run"]), min_size=1, max_size=25)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(verbs=VERBS, number=st.integers(0, 10**9))
def test_following_every_version_equals_a_fresh_load(
    verbs: list[str], number: int, agent: Agent, conversation: Conversation, ana: User, vic: User, ask: Asks
) -> None:
    key = f"s{number}-{len(verbs)}"
    run, _created = open_run(agent=agent, session_key=key)
    place = run.conversation
    pages = [Page(Actor(user=ana), place), Page(Actor(agent=agent), place)]
    for count, verb in enumerate(verbs):
        run_id = run.client_id if run.status == "running" else None
        if verb == "reply":
            say(agent=agent, session_key=key, text=f"reply {count}")
        elif verb == "note":
            say(agent=agent, session_key=key, text=f"note {count}", kind="commentary", run_id=run_id)
        elif verb == "person":
            enqueue(conversation=place, author=ana, text=f"hello {count}", key=f"k{count}")
        elif verb == "ask":
            ask(sessionKey=key)
        elif verb == "finish":
            run = finish_run(
                actor_agent=agent, client_id=run.client_id, status=run.status if run_id is None else "failed"
            )
        elif verb == "run":
            run, _created = open_run(agent=agent, session_key=key)
        else:
            pages[count % 2].catch_up()
    for page in pages:
        page.catch_up()
        assert shape(page.sorted()) == shape(fresh(page.actor, place))


def test_a_fold_of_work_is_never_cut_by_a_page(agent: Agent, conversation: Conversation, ana: User) -> None:
    open_run(agent=agent, session_key="main", client_id="r")
    say(agent=agent, session_key="main", text="before")
    for number in range(70):
        say(agent=agent, session_key="main", text=f"note {number}", kind="commentary", run_id="r")
    say(agent=agent, session_key="main", text="after")
    streams = visible_streams(Actor(user=ana), conversation)
    whole = queries.timeline(streams, limit=500)
    folds = [len(row.messages) for row in whole.rows if isinstance(row, WorkRow)]
    assert folds == [50, 20]
    collected: dict[str, Row] = {}
    before: str | None = None
    for _page in range(20):
        page = queries.timeline(streams, before_uid=before, limit=7)
        collected.update({row.id: row for row in page.rows})
        before = page.earlier
        if not before:
            break
    assert shape(sorted(collected.values(), key=lambda row: row.at)) == shape(whole.rows)


def test_paging_up_misses_and_repeats_nothing(agent: Agent, conversation: Conversation, ana: User, vic: User) -> None:
    for number in range(23):
        say(agent=agent, session_key="main", text=f"{number}")
    streams = visible_streams(Actor(user=ana), conversation)
    texts: list[str] = []
    before = None
    while True:
        page = queries.timeline(streams, before_uid=before, limit=5)
        texts = [row.message.text for row in page.rows if isinstance(row, MessageRow)] + texts
        before = page.earlier
        if not before:
            break
    assert texts == [str(number) for number in range(23)]
    with pytest.raises(NotFound):
        queries.timeline(streams, before_uid="unknown")


def test_a_viewer_cannot_tell_that_a_prompt_stands_between(
    agent: Agent, conversation: Conversation, vic: User, ana: User, ask: Asks
) -> None:
    open_run(agent=agent, session_key="main", client_id="r")
    say(agent=agent, session_key="main", text="one", kind="commentary", run_id="r")
    prompt = ask()
    say(agent=agent, session_key="main", text="two", kind="commentary", run_id="r")
    seen = fresh(Actor(user=vic), conversation)
    assert [len(row.messages) for row in seen if isinstance(row, WorkRow)] == [2]
    assert prompt.message.uid not in str(shape(seen))
    # With the prompt in sight the notes stand in the same fold: rows look alike for every audience.
    assert [row.id for row in seen] == [
        row.id for row in fresh(Actor(user=ana), conversation) if not isinstance(row, PromptRow)
    ]


@pytest.mark.parametrize("number", [1, 3])
def test_a_page_of_history_is_two_queries(
    agent: Agent, conversation: Conversation, ana: User, number: int, django_assert_num_queries: Any
) -> None:
    for count in range(number):
        say(agent=agent, session_key="main", text=f"{count}")
    streams = visible_streams(Actor(user=ana), conversation)
    with django_assert_num_queries(1):
        queries.timeline(streams)
