"""Who may open, read and press what: one table over the cast (style rule 40)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from controlui.chat.models import Conversation, Membership, User
from controlui.chat.transitions import create_user, say
from outbox.transitions import enqueue
from questions.models import Draft, Prompt

from .browser import Browser

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
SECRET = "Shall we tell nobody but the board?"
QUESTION = {"id": "q", "header": "Hush", "question": SECRET, "options": [{"label": "Aye"}, {"label": "Nay"}]}


@pytest.fixture
def cast(ana: User, ben: User, vic: User, sam: User, conversation: Conversation) -> dict[str, Any]:
    """Everybody; pat, a guest, takes part in the conversation."""
    pat = create_user(username="pat", group="guests")
    Membership.objects.create(conversation=conversation, user=pat)
    return {"ana": ana, "ben": ben, "vic": vic, "pat": pat, "sam": sam, "nobody": AnonymousUser()}


def client_of(user: Any) -> Client:
    client = Client()
    if user.is_authenticated:
        client.force_login(user)
    return client


# ana: admin and owner; ben: operator taking part; vic: guest who watches; pat: takes part; sam: stranger.
@pytest.mark.parametrize(
    ("method", "path", "data", "expected"),
    [
        ("get", "", {}, (200, 200, 200, 200, 404, 302)),
        ("get", "older?before={message}", {}, (200, 200, 200, 200, 404, 401)),
        ("get", "live", {}, (200, 200, 200, 200, 404, 401)),
        ("get", "dock", {}, (302, 302, 302, 302, 302, 302)),
        ("post", "dock", {"prompt": "{prompt}", "action": "save", "text-q": "x"}, (303, 303, 404, 404, 404, 401)),
        ("post", "draft", {"prompt": "{prompt}", "text-q": "x"}, (200, 200, 404, 404, 404, 401)),
        ("post", "messages", {"text": "hello"}, (303, 303, 403, 303, 404, 401)),
        ("post", "composer-draft", {"text": "hello"}, (200, 200, 403, 200, 404, 401)),
    ],
)
def test_who_may_do_what(
    cast: dict[str, Any], conversation: Conversation, ask: Ask, method: str, path: str, data: Any, expected: Any
) -> None:
    prompt = ask(questions=[QUESTION])
    message, _created = say(agent=conversation.agent, session_key="main", text="hello")
    names = {"prompt": prompt.uid, "message": message.uid}
    data = {key: value.format(**names) for key, value in data.items()}
    address = f"/c/{conversation.uid}/{path.format(**names)}"
    found = tuple(getattr(client_of(user), method)(address, data).status_code for user in cast.values())
    assert found == expected


def test_nobody_learns_of_a_hidden_prompt(cast: dict[str, Any], conversation: Conversation, ask: Ask) -> None:
    prompt = ask(questions=[QUESTION])
    Draft.objects.create(
        prompt=prompt,
        user=cast["ana"],
        values={"q": {"chosen": [], "text": "marker-text"}},
        updated_at=prompt.created_at,
    )
    for name, sees in {"ana": True, "ben": True, "vic": False, "pat": False}.items():
        client = client_of(cast[name])
        for path in ("", f"?prompt={prompt.uid}", "live"):
            html = client.get(f"/c/{conversation.uid}/{path}").content.decode()
            assert (SECRET in html) == sees, (name, path)
            assert ("marker-text" in html) == (name == "ana"), (name, path)
            if not sees:
                assert f'data-prompt="{prompt.uid}"' not in html
                assert prompt.message.uid not in html
                assert 'class="badge"' not in html
                assert "<title>(" not in html


def test_another_persons_draft_is_never_shown_or_overwritten(
    cast: dict[str, Any], conversation: Conversation, ask: Ask
) -> None:
    ask()
    page = Browser(cast["ana"]).open(f"/c/{conversation.uid}/")
    form = page.filled("dock-form", text_deploy_target="ana's words")
    page.client.force_login(cast["ben"])
    token = page.client.get(f"/c/{conversation.uid}/").cookies["controlui_csrf"].value
    for path, fields in (
        ("dock", form | {"action": ["save"]}),
        ("draft", form),
        ("messages", {"text": "x", "as": "ana"}),
    ):
        answer = page.client.post(f"/c/{conversation.uid}/{path}", fields | {"csrfmiddlewaretoken": token})
        assert answer.status_code == 403, path
    assert not Draft.objects.exists()
    assert not conversation.messages.filter(kind="person").exists()
    assert page.client.get(f"/c/{conversation.uid}/live?as=ana").status_code == 403


def test_an_inactive_person_is_out(ana: User, conversation: Conversation) -> None:
    client = client_of(ana)
    User.objects.filter(pk=ana.pk).update(is_active=False)
    assert client.get(f"/c/{conversation.uid}/").status_code == 302


def test_personal_pages_are_never_stored(cast: dict[str, Any], conversation: Conversation, ask: Ask) -> None:
    ask()
    for path in ("/", f"/c/{conversation.uid}/", f"/c/{conversation.uid}/live", "/c/nothing/"):
        assert "no-store" in client_of(cast["ana"]).get(path)["Cache-Control"], path


def test_home_leads_to_the_newest_conversation(cast: dict[str, Any], conversation: Conversation) -> None:
    assert Browser(cast["ben"]).open("/").path() == f"/c/{conversation.uid}/"
    assert "No conversations yet" in Browser(cast["sam"]).open("/").html
    assert Browser().open("/").address == "/sign-in/?next=%2F"


def test_read_only_and_archived_conversations_keep_their_dock(
    cast: dict[str, Any], conversation: Conversation, ask: Ask
) -> None:
    enqueue(conversation=conversation, author=cast["ben"], text="On its way", key="k")
    prompt = ask()
    for changes, words in (
        ({"read_only": True}, "You can read this conversation, but not write in it."),
        ({"read_only": False, "archived_at": prompt.created_at}, "This conversation is archived."),
    ):
        Conversation.objects.filter(pk=conversation.pk).update(**changes)
        page = Browser(cast["ana"]).open(f"/c/{conversation.uid}/")
        assert words in page.page.texts["composer"]
        assert page.question() == "Where should I deploy?"
        assert "send-as-message" not in page.html
        assert "On its way" in page.page.texts["outbox"]
        assert page.press("save", choice_deploy_target="o1").status == 200


def test_another_template_may_stand_in_the_composers_slot(
    cast: dict[str, Any], conversation: Conversation, ask: Ask, settings: Any
) -> None:
    ask()
    enqueue(conversation=conversation, author=cast["ana"], text="On its way", key="k")
    settings.COMPOSER_TEMPLATE = "pages/_closed.html"
    page = Browser(cast["ana"]).open(f"/c/{conversation.uid}/")
    assert page.question() == "Where should I deploy?"
    assert 'id="composer-text"' not in page.html
    assert "On its way" in page.page.texts["outbox"]
    page.press("submit", choice_deploy_target="o1")
    assert Prompt.objects.get().status == "answered"
