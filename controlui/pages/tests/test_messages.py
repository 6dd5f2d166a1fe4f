"""The composer: sending, drafts, what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from controlui.chat.alternates import ALTERNATES_MAX
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


def test_a_message_is_saved_exactly_as_typed(
    page: Browser, conversation: Conversation, agent_accepts: Callable[[], int]
) -> None:
    page.send("composer", text="  *two*\r\nlines <b>\r\n")
    text = "  *two*\nlines <b>\n"
    sent = conversation.deliveries.get()
    assert text in page.page.texts[f"delivery-{sent.uid}"]
    assert "queued" in page.page.texts[f"delivery-{sent.uid}"]
    assert page.path() == f"/c/{conversation.uid}/"
    assert agent_accepts() == 1
    page.open(f"/c/{conversation.uid}/")
    assert conversation.messages.get(kind="person").text == text
    assert text in page.page.texts[f"message-{sent.uid}"]
    assert f"delivery-{sent.uid}" not in page.page.texts


def test_the_same_press_twice_is_one_message(page: Browser, conversation: Conversation) -> None:
    form = page.filled("composer", text="once")
    for _press in range(3):
        assert page.client.post(f"/c/{conversation.uid}/messages", form).status_code == 303
    assert conversation.deliveries.count() == 1
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
    assert not conversation.deliveries.exists()


def test_the_text_is_kept_and_goes_when_it_is_sent(page: Browser, conversation: Conversation, ana: User) -> None:
    form = page.filled("composer", text="half a thought")
    assert page.client.post(f"/c/{conversation.uid}/composer-draft", form).json() == {"revision": 1, "stored": "saved"}
    page.open(f"/c/{conversation.uid}/")
    assert ("text", "half a thought") in page.form("composer")["fields"]
    page.send("composer", text="half a thought, ended")
    assert ("text", "") in page.form("composer")["fields"]
    assert ComposerDraft.objects.get(user=ana).text == ""


def tab(page: Browser, conversation: Conversation, name: str) -> Callable[..., Any]:
    """A tab with scripts: saves what is typed, `(stored, revision)`, or with `path="messages"` sends it."""
    count = itertools.count(1)

    def save(text: str, revision: int = 0, path: str = "composer-draft", seq: int = 0, **more: str) -> Any:
        form = page.filled("composer", text=text, tab=name, revision=str(revision), **more)
        form["tab_seq"] = [str(seq or next(count))]
        headers = {"HX-Request": "true"} if path == "messages" else {"Accept": "application/json"}
        response = page.client.post(f"/c/{conversation.uid}/{path}", form, headers=headers)
        if path == "messages":
            return response.content.decode()
        saved = response.json()
        return saved["stored"], saved["revision"]

    return save


def kept(user: User) -> tuple[str, list[str]]:
    """The present text of the composer, and those beside it."""
    draft = ComposerDraft.objects.get(user=user)
    return draft.text, [other["text"] for other in draft.alternates]


def test_a_late_save_of_a_tab_is_ignored(page: Browser, conversation: Conversation, ana: User) -> None:
    save = tab(page, conversation, "t1")
    assert save("hello world", seq=2)[0] == "saved"
    assert save("hello", seq=1)[0] == "ignored"
    other = tab(page, conversation, "t2")
    assert other("hello world!", 1, seq=1)[0] == "saved"
    assert save("hello", seq=1)[0] == "ignored", "another tab's save in between does not make it news"
    assert kept(ana) == ("hello world!", [])


def test_two_tabs_keep_both_texts_and_are_told(page: Browser, conversation: Conversation, ana: User) -> None:
    one, two = tab(page, conversation, "t1"), tab(page, conversation, "t2")
    one("mine")
    stored, revision = two("theirs")
    assert (stored, kept(ana)) == ("alternate", ("mine", ["theirs"]))
    assert two("theirs, longer", revision)[0] == "alternate", "being told does not make it the winner"
    assert one("mine, longer")[0] == "saved"
    assert kept(ana) == ("mine, longer", ["theirs, longer"])
    live = page.client.get(f"/c/{conversation.uid}/live").content.decode()
    assert "Also edited elsewhere" in live.partition('hx-target="#composer-notice"')[2]


def test_without_scripts_the_other_text_can_be_used_or_left(
    page: Browser, conversation: Conversation, ana: User
) -> None:
    one, two = tab(page, conversation, "t1"), tab(page, conversation, "t2")
    one("mine")
    two("theirs")
    page.open(f"/c/{conversation.uid}/")
    assert "Also edited elsewhere" in page.page.texts["composer-notice"]
    page.send("composer", action="use-alternate", text="mine, edited")
    assert ("text", "theirs") in page.form("composer")["fields"]
    page.send("composer", action="use-alternate")
    assert ("text", "mine, edited") in page.form("composer")["fields"]
    page.send("composer", action="keep-mine", text="mine, edited again")
    assert ("text", "mine, edited again") in page.form("composer")["fields"]
    assert "composer-notice" not in page.page.texts
    assert kept(ana) == ("mine, edited again", [])
    assert not conversation.deliveries.exists()


def test_scripts_get_the_composer_with_the_other_text(page: Browser, conversation: Conversation, ana: User) -> None:
    one, two = tab(page, conversation, "t1"), tab(page, conversation, "t2")
    one("mine")
    two("theirs")
    html = two("theirs, typed on", path="messages", action="use-alternate")
    assert html.lstrip().startswith('<form id="composer"')
    assert ">\nmine</textarea>" in html
    assert kept(ana) == ("mine", ["theirs, typed on"])


def test_sending_in_one_tab_leaves_what_another_typed(page: Browser, conversation: Conversation, ana: User) -> None:
    one, two = tab(page, conversation, "t1"), tab(page, conversation, "t2")
    one("from one")
    html = two("from two", path="messages", key="k2")
    assert kept(ana) == ("from one", [])
    assert ">\n</textarea>" in html
    assert "Also edited elsewhere" in html, "the tab that sent is told, and its next text is kept beside it"
    assert two("from two, next", 0)[0] == "alternate"
    assert kept(ana) == ("from one", ["from two, next"])
    one("from one", path="messages", key="k1")
    assert kept(ana) == ("from two, next", []), "what was beside it is all there is now"
    assert one("from one, next", 0)[0] == "alternate"
    two("from two, next", path="messages", key="k3")
    assert [sent.text for sent in conversation.deliveries.order_by("pk")] == [
        "from two", "from one", "from two, next",
    ]  # fmt: skip
    assert kept(ana) == ("from one, next", [])


def test_what_a_tab_saved_after_it_sent_stays(page: Browser, conversation: Conversation, ana: User) -> None:
    one = tab(page, conversation, "t1")
    one("sent and more", seq=3)
    one("sent", path="messages", seq=2)
    assert kept(ana) == (" and more", [])
    one("anything", path="messages", seq=4, key="k2")
    assert kept(ana) == ("", [])
    assert one("sent and", seq=3)[0] == "ignored"


def test_the_text_sent_goes_wherever_it_was_kept(page: Browser, conversation: Conversation, ana: User) -> None:
    one, two = tab(page, conversation, "t1"), tab(page, conversation, "t2")
    one("the same")
    two("other")
    two("the same", path="messages")
    assert kept(ana) == ("", [])


def test_a_text_too_many_is_refused_and_stays_in_its_tab(page: Browser, conversation: Conversation, ana: User) -> None:
    tabs = [tab(page, conversation, f"t{number}") for number in range(ALTERNATES_MAX + 1)]
    for number, save in enumerate(tabs):
        save(f"text {number:03}")
    form = page.filled("composer", text="one more", tab="last", tab_seq="1")
    address = f"/c/{conversation.uid}/"
    saved = page.client.post(f"{address}composer-draft", form, headers={"Accept": "application/json"})
    assert (saved.status_code, saved.json()["code"]) == (422, "too_many_versions")
    present, others = kept(ana)
    assert sorted([present, *others]) == [f"text {number:03}" for number in range(ALTERNATES_MAX + 1)]
    for action in ("check", "use-alternate"):
        page.response = page.client.post(f"{address}messages", form | {"action": [action]})
        assert (page.status, "one more" in page.page.words) == (422, True)
    page.response = page.client.post(f"{address}messages", form | {"action": ["keep-mine"]})
    assert page.status == 303
    assert kept(ana)[0] == "one more"


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


def test_scripts_get_what_is_on_its_way_and_an_empty_composer_with_another_key(
    page: Browser, conversation: Conversation
) -> None:
    form = page.filled("composer", text="hello")
    response = page.client.post(f"/c/{conversation.uid}/messages", form, headers={"HX-Request": "true"})
    html = response.content.decode()
    assert html.lstrip().startswith('<form id="composer"')
    assert 'hx-target="#outbox"' in html
    assert "queued" in html
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
