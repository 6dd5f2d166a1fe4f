"""The composer: sending, drafts, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from controlui.chat.models import ComposerDraft, Conversation, Message, User
from controlui.chat.transitions import say
from questions.models import Prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]


@pytest.fixture
def page(ana: User, conversation: Conversation) -> Browser:
    """Ana's window."""
    return Browser(ana).open(f"/c/{conversation.uid}/")


def test_a_message_is_saved_exactly_as_typed(page: Browser, conversation: Conversation) -> None:
    page.send("composer", text="  *two*\r\nlines <b>\r\n")
    message = conversation.messages.get(kind="person")
    assert message.text == "  *two*\nlines <b>\n"
    assert message.text in page.page.texts[f"message-{message.uid}"]
    assert page.path() == f"/c/{conversation.uid}/"


def test_the_same_press_twice_is_one_message(page: Browser, conversation: Conversation) -> None:
    form = page.filled("composer", text="once")
    for _press in range(3):
        assert page.client.post(f"/c/{conversation.uid}/messages", form).status_code == 303
    assert conversation.messages.count() == 1
    response = page.client.post(f"/c/{conversation.uid}/messages", form | {"text": ["changed"]})
    assert response.status_code == 409
    assert "changed" in response.content.decode()
    assert "sent before you changed it" in response.content.decode()


@pytest.mark.parametrize("text", ["", " \n\t", "x" * 100_001, "nul\x00"])
def test_what_cannot_be_sent_says_why_and_stays(page: Browser, conversation: Conversation, text: str) -> None:
    page.send("composer", text=text)
    assert page.status == 422
    assert page.page.texts["composer-error"]
    if "\x00" not in text:
        assert ("text", text) in page.form("composer")["fields"]
    assert not conversation.messages.exists()


def test_the_text_is_kept_and_goes_when_it_is_sent(page: Browser, conversation: Conversation, ana: User) -> None:
    form = page.filled("composer", text="half a thought")
    assert page.client.post(f"/c/{conversation.uid}/composer-draft", form).status_code == 204
    page.open(f"/c/{conversation.uid}/")
    assert ("text", "half a thought") in page.form("composer")["fields"]
    page.send("composer", text="half a thought, ended")
    assert ("text", "") in page.form("composer")["fields"]
    assert ComposerDraft.objects.get(user=ana).text == ""


def test_the_composer_stays_in_the_page_under_an_open_question(
    page: Browser, conversation: Conversation, ask: Ask
) -> None:
    page.client.post(f"/c/{conversation.uid}/composer-draft", page.filled("composer", text="kept"))
    ask()
    page.open(f"/c/{conversation.uid}/")
    assert page.dock()["data-covers"] == "1"
    assert ("text", "kept") in page.form("composer")["fields"]


def test_check_for_new_questions_keeps_the_text(page: Browser, conversation: Conversation, ask: Ask) -> None:
    check = next(given for tag, given in page.page.tags if given.get("data-action") == "check")
    assert check["form"] == "composer"
    form = page.filled("composer", text="writing")
    ask()
    page.response = page.client.post(check["formaction"], form | {check["name"]: [check["value"]]}, follow=True)
    assert page.question() == "Where should I deploy?"
    assert ("text", "writing") in page.form("composer")["fields"]
    response = page.client.post(
        f"/c/{conversation.uid}/messages", form | {"action": ["check"]}, headers={"HX-Request": "true"}
    )
    assert response["HX-Refresh"] == "true"
    assert not conversation.messages.filter(kind="person").exists()


def test_scripts_get_the_row_and_an_empty_composer_with_another_key(page: Browser, conversation: Conversation) -> None:
    form = page.filled("composer", text="hello")
    response = page.client.post(f"/c/{conversation.uid}/messages", form, headers={"HX-Request": "true"})
    html = response.content.decode()
    assert html.lstrip().startswith('<form id="composer"')
    assert 'hx-target="#timeline" hx-swap="place"' in html
    assert form["key"][0] not in html
    response = page.client.post(
        f"/c/{conversation.uid}/messages", form | {"text": ["  "], "key": ["k2"]}, headers={"HX-Request": "true"}
    )
    assert response.status_code == 422
    assert "Write something first." in response.content.decode()


def test_two_thousand_messages_are_a_bounded_page(page: Browser, conversation: Conversation) -> None:
    first, _created = say(agent=conversation.agent, session_key="main", text="message 0")
    conversation.refresh_from_db()
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            stream=first.stream,
            version=first.stream.version,
            seq=first.seq + number,
            kind="reply",
            text=f"message {number}.",
            created_at=timezone.now(),
        )
        for number in range(1, 2000)
    )
    page.open(f"/c/{conversation.uid}/")
    assert page.html.count("message--reply") == 50
    assert "message 1999." in page.html
    assert len(page.html) < 60_000
    seen = 50
    while link := next(
        (given for _tag, given in page.page.tags if given.get("id") == "earlier" and "href" in given), None
    ):
        before = link["hx-get"]
        page.open(before)
        assert page.html.count("message--reply") <= 50
        seen += page.html.count("message--reply")
    assert seen == 2000
    page.open(f"/c/{conversation.uid}/?before={first.uid}")
    assert "Newest messages" in page.html
