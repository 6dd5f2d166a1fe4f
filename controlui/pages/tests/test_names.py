"""What a conversation is called on its page and in the list."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlui.chat.models import Agent, User
from questions.models import Prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]


def test_what_is_asked_outside_of_any_conversation_has_a_plain_name(ana: User, ask: Ask) -> None:
    prompt = ask(sessionKey=None)
    page = Browser(ana).open(f"/c/{prompt.conversation.uid}/")
    assert "no session" not in page.html
    assert page.page.words.count("Questions from builder") == 3, "title, list and heading"
    page.send("language", language="zh-hans")
    assert page.page.words.count("builder 的提问") == 3
    assert "no session" not in page.html


@pytest.mark.parametrize(("key", "times"), [("builder", 0), ("main", 1)])
def test_an_agent_is_not_named_twice(ana: User, agent: Agent, ask: Ask, key: str, times: int) -> None:
    prompt = ask(sessionKey=key)
    head = Browser(ana).open(f"/c/{prompt.conversation.uid}/").html.partition('class="chat-agent"')[2]
    assert head.partition("</p>")[0].count("builder") == times
