"""A NUL, which PostgreSQL neither looks for nor stores, in every address and every field: never a fault of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import URLPattern

from controlui.chat.models import ComposerDraft, Conversation, User
from controlui.pages.urls import urlpatterns
from questions.models import Draft, Prompt

pytestmark = pytest.mark.django_db
Ask = Callable[..., Prompt]
TYPED = {"text": "typed", "text-deploy_target": "typed"}
OF_A_PLACE = [route for route in urlpatterns if "<" in str(route.pattern)]
QUERY = ("as", "before", "c", "d", "folded", "next", "prompt", "s", "signed-out", "step")
FIELDS = {
    "dock": ("action", "as", "choice-deploy_target", "folded", "own-deploy_target", "prompt", "resolution_id",
             "revision", "step", "tab", "tab_seq", "text-deploy_target"),
    "draft": ("as", "choice-deploy_target", "prompt", "revision", "tab", "tab_seq", "text-deploy_target"),
    "messages": ("action", "as", "key", "leftover", "revision", "tab", "tab_seq", "text"),
    "composer-draft": ("action", "as", "revision", "tab", "tab_seq", "text"),
}  # fmt: skip


@pytest.fixture
def client(ana: User) -> Client:
    """Ana's browser."""
    client = Client()
    client.force_login(ana)
    return client


@pytest.mark.parametrize("route", OF_A_PLACE, ids=lambda route: route.name)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_place_with_one_is_not_there(client: Client, route: URLPattern, method: str) -> None:
    path = "/" + str(route.pattern).replace("<str:uid>", "a%00b").replace("<str:token>", "a%00b")
    response = getattr(client, method)(path, TYPED, follow=True)
    assert response.status_code in {404, 405}, path
    if method == "post" and response.status_code == 404 and route.name != "sign-in-link":
        assert "typed" in response.content.decode()


@pytest.mark.parametrize("name", QUERY)
@pytest.mark.parametrize("route", urlpatterns, ids=lambda route: route.name)
def test_in_a_query(client: Client, conversation: Conversation, route: URLPattern, name: str) -> None:
    path = "/" + str(route.pattern).replace("<str:uid>", conversation.uid).replace("<str:token>", "x")
    assert client.get(path, {name: "a\x00b"}).status_code < 500
    assert client.post(f"{path}?{name}=a%00b", TYPED).status_code < 500


@pytest.mark.parametrize(("route", "field"), [(route, field) for route, fields in FIELDS.items() for field in fields])
@pytest.mark.parametrize("action", ["save", "submit", "check", ""])
def test_in_a_field(client: Client, conversation: Conversation, ask: Ask, route: str, field: str, action: str) -> None:
    form = {**TYPED, "prompt": ask().uid, "tab": "t", "action": action, field: "a\x00b"}
    response = client.post(f"/c/{conversation.uid}/{route}", form)
    assert response.status_code < 500
    where = "".join(
        [
            response.content.decode(),
            *Draft.objects.values_list("values__deploy_target__text", flat=True),
            *Prompt.objects.exclude(answers=None).values_list("answers__deploy_target__0", flat=True),
            *ComposerDraft.objects.values_list("text", flat=True),
            *conversation.deliveries.values_list("text", flat=True),
        ]
    )
    kept = "ab" if field.startswith("text") else "typed"
    assert kept in where.replace("\x00", "").replace("\ufffd", "")


def test_in_a_session_cookie(conversation: Conversation) -> None:
    client = Client(headers={"Cookie": 'controlui_session="a\\000bcdefghij"'})
    assert client.get(f"/c/{conversation.uid}/").status_code == 302
