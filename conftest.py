"""The cast (style rule 40) and the ask that most tests open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from controlui.chat.models import Agent, Conversation, Membership, User
from controlui.chat.transitions import create_agent, create_token, create_user, open_conversation
from questions import schema
from questions.models import Prompt
from questions.transitions import open_prompt

ASK: dict[str, Any] = {
    "questions": [
        {
            "id": "deploy_target",
            "header": "Deploy",
            "question": "Where should I deploy?",
            "options": [{"label": "Staging (Recommended)", "description": "Safe"}, {"label": "Production"}],
        }
    ]
}
ASK_THREE: dict[str, Any] = {
    "questions": [
        {"id": "where", "header": "Where", "question": "Where to?", "options": [{"label": "A"}, {"label": "B"}]},
        {
            "id": "extras",
            "header": "Extras",
            "question": "Which extras?",
            "options": [{"label": "Tests"}, {"label": "Docs"}, {"label": "Logs"}],
            "multiSelect": True,
        },
        {"id": "note", "header": "Note", "question": "Which tone?", "options": [{"label": "Calm"}, {"label": "Loud"}]},
    ]
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Races are for a database where two transactions truly run at once: `make test` brings one."""
    if item.get_closest_marker("postgres") and "DATABASE_URL" not in os.environ:
        pytest.skip("needs PostgreSQL: set DATABASE_URL, or run make test")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Each test begins in English: a request in another language leaves that active."""
    with translation.override("en"):
        yield


@pytest.fixture
def ana(db: None) -> User:
    """An admin, and the owner of the agent."""
    return create_user(username="ana", group="admins")


@pytest.fixture
def ben(db: None) -> User:
    """An operator; a participant of the conversation once `conversation` is asked for."""
    return create_user(username="ben", group="operators")


@pytest.fixture
def vic(db: None) -> User:
    """A guest, who only views the conversation."""
    return create_user(username="vic", group="guests")


@pytest.fixture
def sam(db: None) -> User:
    """A stranger to the conversation."""
    return create_user(username="sam", group="operators")


@pytest.fixture
def agent(ana: User) -> Agent:
    """The agent, owned by ana."""
    return create_agent(name="builder", owner=ana)


@pytest.fixture
def conversation(agent: Agent, ben: User, vic: User) -> Conversation:
    """The agent's conversation `main`, with ben taking part and vic watching."""
    made = open_conversation(agent=agent, key="main")
    Membership.objects.create(conversation=made, user=ben, role=Membership.Role.PARTICIPANT)
    Membership.objects.create(conversation=made, user=vic, role=Membership.Role.VIEWER)
    return made


@pytest.fixture
def agent_token(agent: Agent) -> str:
    """A bearer token of the agent."""
    return create_token(agent=agent)


@pytest.fixture
def api() -> Callable[..., Any]:
    """Calls the REST API: `api("POST", "/api/v1/ask", token, json)` gives Django's test response."""

    def call(method: str, path: str, token: str = "", data: Any = None, **headers: str) -> Any:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        content = {} if data is None else {"data": data, "content_type": "application/json"}
        return getattr(Client(), method.lower())(path, headers=headers, **content)

    return call


@pytest.fixture
def signed_in() -> Callable[[User], Client]:
    """A browser (Django's test client) in which a person is signed in."""

    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def ask(agent: Agent, conversation: Conversation) -> Callable[..., Prompt]:
    """Opens a prompt as the agent would: `ask(questions=..., at=..., runId=...)`; None leaves a key out."""

    def opened(*, at: Any = None, key: str | None = None, **changes: Any) -> Prompt:
        wire = {**ASK, "sessionKey": "main", **changes}
        body = {name: value for name, value in wire.items() if value is not None}
        prompt, _created = open_prompt(
            agent=agent, ask=schema.parse_ask(body), body_digest=schema.body_digest(body), key=key, at=at
        )
        return prompt

    return opened


@pytest.fixture
def agent_accepts(agent: Agent) -> Callable[[], int]:
    """Lets the agent read its inbox and accept everything in it, again and again; how many it was."""
    from outbox.transitions import confirm
    from outbox.transports import inbox

    def accept() -> int:
        accepted = 0
        while claims := inbox.take(agent):
            for claimed in claims:
                confirm(delivery=claimed.delivery, lease=claimed.lease)
                accepted += 1
        return accepted

    return accept
