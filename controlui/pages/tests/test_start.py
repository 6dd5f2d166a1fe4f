"""Starting a conversation (issue: guests may create conversations)."""

from __future__ import annotations

from typing import Any

import pytest

from controlui.chat.models import Agent, Conversation, User
from controlui.chat.transitions import create_agent, set_open
from outbox.models import Delivery

from .browser import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def opened(agent: Agent) -> Agent:
    """The agent, open to everybody."""
    return set_open(agent=agent, is_open=True)


def test_a_guest_starts_a_conversation_and_takes_part_in_it(opened: Agent, vic: User) -> None:
    page = Browser(vic).open("/")
    assert "New conversation" in page.html
    page.open("/new/").send("/new/", agent="builder", text="Please ask me.")
    made = Conversation.objects.get()
    assert page.address == f"/c/{made.uid}/"
    assert (made.created_by, made.agent) == (vic, opened)
    assert made.memberships.get().role == "participant"
    assert Delivery.objects.get().text == "Please ask me."
    assert "Please ask me." in page.page.texts["outbox"]


def test_the_same_press_twice_is_one_conversation(opened: Agent, vic: User, sam: User) -> None:
    page = Browser(vic).open("/new/")
    fields = page.filled("/new/", agent="builder", text="Once.")
    for _press in range(2):
        page.client.post("/new/", fields)
    assert Conversation.objects.count() == Delivery.objects.count() == 1
    fields |= {"text": ["Once more."]}
    again = page.client.post("/new/", fields)
    assert again.status_code == 409
    assert "Once more." in again.content.decode()
    # The key of somebody else's form opens nothing of theirs.
    other = Browser(sam).open("/new/")
    theirs = other.filled("/new/", agent="builder", text="Mine.") | {"key": fields["key"]}
    assert other.client.post("/new/", theirs).status_code == 303
    assert Conversation.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "words", "kept"),
    [
        ({"agent": ""}, "Choose an agent.", "Hello there"),
        ({"agent": "closed"}, "Choose an agent.", "Hello there"),
        ({"agent": "no such agent"}, "Choose an agent.", "Hello there"),
        ({"text": "  "}, "Write something first.", ""),
        ({"text": "x" * 100_001}, "A message has at most 100,000 characters.", "x" * 100_001),
    ],
)
def test_what_is_wrong_is_said_and_the_text_kept(
    opened: Agent, vic: User, changes: dict[str, str], words: str, kept: str
) -> None:
    create_agent(name="closed")
    page = Browser(vic).open("/new/")
    fields: dict[str, Any] = {**page.filled("/new/", agent="builder", text="Hello there"), **changes}
    answer = page.client.post("/new/", fields)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert kept in answer.content.decode()
    assert not Conversation.objects.exists()


def test_with_no_agent_to_talk_to_the_page_says_so(agent: Agent, vic: User, ana: User) -> None:
    page = Browser(vic).open("/new/")
    assert "No agent to talk to yet" in page.html
    assert "builder" not in page.html
    assert "builder" in Browser(ana).open("/new/").html


def test_who_may_not_start_one_finds_no_way_to(opened: Agent, vic: User) -> None:
    vic.groups.clear()
    page = Browser(vic).open("/")
    assert "New conversation" not in page.html
    answer = page.client.get("/new/")
    assert "builder" not in answer.content.decode()
