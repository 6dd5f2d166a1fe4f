"""What the panel and the timeline's rows of prompts say, as the server draws them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from conftest import ASK_THREE
from controlui.chat.access import Actor
from controlui.chat.models import Agent, Conversation, User
from questions.access import get_prompt_for
from questions.models import Prompt
from questions.transitions import withdraw_prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
CHINESE = {"HTTP_ACCEPT_LANGUAGE": "zh-hans"}


@pytest.fixture
def page(ana: User, conversation: Conversation) -> Browser:
    """Ana's window, at the conversation."""
    return Browser(ana).open(f"/c/{conversation.uid}/")


def attributes(page: Browser, identity: str) -> Any:
    return next(given for _tag, given in page.page.tags if given.get("id") == identity)


def row(page: Browser, prompt: Prompt) -> str:
    return page.page.texts[f"message-{prompt.message.uid}"]


def test_two_waiting_requests_can_be_told_apart_in_the_timeline(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    first, second = ask(), ask(**ASK_THREE)
    page.open(page.address)
    assert "Where should I deploy?" in row(page, first)
    for text in ("Where to?", "Which extras?", "Which tone?"):
        assert text in row(page, second)
        assert text not in row(page, first)


def test_the_last_minute_has_more_weight(page: Browser, conversation: Conversation, ask: Ask) -> None:
    prompt = ask(timeoutSeconds=120)
    assert prompt.closes_at is not None
    for later, classes in ((0, "timer"), (70, "timer timer--low")):
        Prompt.objects.filter(pk=prompt.pk).update(closes_at=prompt.closes_at - dt.timedelta(seconds=later))
        assert attributes(page.open(page.address), "dock-timer")["class"] == classes


def test_more_time_that_is_used_up_says_so_and_one_that_never_was_does_not(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    ask(timeoutSeconds=600, maxTimeoutSeconds=900)
    page.open(page.address)
    assert "dock-limit" not in page.page.texts
    page.press("more-time")
    assert page.page.texts["dock-limit"] == "No more time can be added"
    page.press("skip")
    ask(timeoutSeconds=600, maxTimeoutSeconds=600)
    page.open(page.address)
    assert "dock-limit" not in page.page.texts


def test_the_warning_stands_with_the_buttons_and_not_among_what_scrolls(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    ask()
    page.open(page.address)
    assert "Do not enter passwords or keys" in page.page.texts["dock-foot"]
    assert "Do not enter passwords or keys" not in page.page.texts["dock-fields"]


def test_backs_place_is_kept_where_there_is_no_back_yet(page: Browser, conversation: Conversation, ask: Ask) -> None:
    ask()
    assert "Back" not in page.open(page.address).page.texts["dock-foot"], "a single question has no Back"
    page.press("skip")
    ask(**ASK_THREE)
    page.open(page.address)
    kept = next(given for tag, given in page.page.tags if tag == "button" and "disabled" in given)
    assert (kept["type"], kept["aria-hidden"]) == ("button", "true")
    page.press("next")
    assert not [given for tag, given in page.page.tags if tag == "button" and "disabled" in given]


def test_the_skip_link_leads_to_the_question_the_bar_or_the_message_box(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    def target() -> str:
        return str(next(given for _tag, given in page.page.tags if given.get("class") == "skip-link")["href"])

    assert target() == "#composer-text"
    ask()
    page.open(page.address)
    assert target() == "#dock-question"
    page.press("fold")
    assert target() == "#dock-fold"


def test_an_end_reads_well_in_both_languages(
    page: Browser, conversation: Conversation, ask: Ask, agent: Agent, ana: User
) -> None:
    answered, skipped, withdrawn = ask(), ask(), ask()
    page.open(page.address).press("submit", choice_deploy_target="o1").press("skip", text_deploy_target="half")
    withdraw_prompt(prompt=get_prompt_for(Actor(user=ana), withdrawn.uid), agent=agent, surface="api")
    page.open(page.address)
    assert "answered by ana via the web page" in row(page, answered)
    assert "skipped by ana via the web page" in row(page, skipped)
    assert "Not sent: what you chose or typed" in row(page, skipped)
    assert f"cancelled by {agent}" in row(page, withdrawn)
    page.client.defaults.update(CHINESE)
    page.open(page.address)
    assert "ana 已通过网页回答" in row(page, answered)
    assert "ana 已通过网页跳过" in row(page, skipped)
    assert "未发送：你选择或输入的内容" in row(page, skipped)
    assert f"{agent} 已取消" in row(page, withdrawn)
