"""The short commands: what they print on their last line, and how they refuse."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from controlui.chat.access import actor_of_token
from controlui.chat.models import Agent, Token, User
from controlui.ops import installation, local


@pytest.fixture(autouse=True)
def data(tmp_path: Path, settings: Settings) -> Path:
    """A CONTROLUI_DATA that `up` never wrote to."""
    settings.DATA_DIR = tmp_path
    settings.PUBLIC_URL = ""
    return tmp_path


def printed(*words: str) -> list[str]:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue().splitlines()


def refused(*words: str) -> str:
    with pytest.raises(CommandError) as told:
        call_command(*words)
    assert told.value.returncode == 1
    return str(told.value)


@pytest.mark.django_db
@pytest.mark.parametrize("group", ["admins", "operators", "guests"])
def test_create_user_makes_a_person_of_the_group(group: str) -> None:
    said = printed("create_user", "kim", "--group", group)
    assert said[-1].startswith(f"Created the account kim in the group {group}.")
    user = User.objects.get(username="kim")
    assert [found.name for found in user.groups.all()] == [group]
    assert not user.has_usable_password()


@pytest.mark.django_db
def test_create_user_refuses_in_words() -> None:
    printed("create_user", "kim")
    assert "kim already" in refused("create_user", "kim")
    assert "username" in refused("create_user", "kim lee")
    assert "--group" in refused("create_user", "lee", "--group", "kings")
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_create_agent_prints_its_token_alone_on_the_last_line(ana: User) -> None:
    token = printed("create_agent", "helper", "--owner", "ana", "--webhook", "https://example.org/hook")[-1]
    assert " " not in token
    actor = actor_of_token(token)
    assert actor
    assert actor.agent == Agent.objects.get(name="helper", owner=ana, webhook_url="https://example.org/hook")


@pytest.mark.django_db
def test_set_webhook_shows_a_secret_only_when_it_makes_one() -> None:
    printed("create_agent", "helper")
    assert "no agent named nobody" in refused("set_webhook", "nobody", "--off")
    assert "--url" in refused("set_webhook", "helper", "--new-secret")
    assert "http" in refused("set_webhook", "helper", "--url", "ftp://example.org")
    first = printed("set_webhook", "helper", "--url", "https://example.org/hook")[-1]
    assert first == Agent.objects.get(name="helper").webhook_secret
    assert first.startswith("whsec_")
    moved = printed("set_webhook", "helper", "--url", "https://example.org/other")
    assert "its signing secret stays" in moved[-1]
    assert Agent.objects.get(name="helper").webhook_url == "https://example.org/other"
    second = printed("set_webhook", "helper", "--new-secret")[-1]
    assert second == Agent.objects.get(name="helper").webhook_secret != first
    assert "reads its inbox" in printed("set_webhook", "helper", "--off")[-1]
    agent = Agent.objects.get(name="helper")
    assert (agent.webhook_url, agent.webhook_secret) == ("", "")


@pytest.mark.django_db
def test_create_agent_refuses_and_leaves_nothing_half_made() -> None:
    printed("create_agent", "helper")
    assert "helper already" in refused("create_agent", "helper")
    assert "--owner" in refused("create_agent", "other", "--owner", "nobody")
    assert "webhook" in refused("create_agent", "other", "--webhook", "ftp://example.org")
    assert list(Agent.objects.values_list("name", flat=True)) == ["helper"]
    assert Token.objects.count() == 1


@pytest.mark.django_db
def test_create_token_prints_a_persons_token(ana: User) -> None:
    actor = actor_of_token(printed("create_token", "ana")[-1])
    assert actor
    assert actor.user == ana
    assert "user: There is no person named nobody" in refused("create_token", "nobody")
    User.objects.update(is_active=False)
    assert "deactivated" in refused("create_token", "ana")


@pytest.mark.django_db
def test_sign_in_link_works_once(ana: User, client: Client) -> None:
    link = printed("sign_in_link", "ana", "--base-url", "https://ask.example.org/")[-1]
    assert link.startswith("https://ask.example.org/sign-in/")
    path = link.removeprefix("https://ask.example.org")
    assert client.get(path).status_code == 200
    assert client.post(path).status_code in {302, 303}
    assert Client().post(path).status_code not in {302, 303}


@pytest.mark.django_db
def test_sign_in_link_takes_the_address_it_knows(ana: User, settings: Settings) -> None:
    assert printed("sign_in_link", "ana")[-1].startswith("http://127.0.0.1:8000/sign-in/")
    local.write(local.LocalServer(url="http://127.0.0.1:8123", token="agt_x"))
    assert printed("sign_in_link", "ana")[-1].startswith("http://127.0.0.1:8123/sign-in/")
    settings.PUBLIC_URL = "https://ask.example.org"
    assert printed("sign_in_link", "ana")[-1].startswith("https://ask.example.org/sign-in/")


@pytest.mark.django_db
@pytest.mark.parametrize("base", ["ask.example.org", "ftp://x", "https://x/sub", ""])
def test_sign_in_link_refuses_an_address_that_leads_nowhere(ana: User, base: str) -> None:
    assert "--base-url" in refused("sign_in_link", "ana", "--base-url", base)


@pytest.mark.django_db
def test_first_admin_is_made_once_and_an_active_one_is_kept() -> None:
    owner = installation.first_admin()
    assert (owner.username, installation.first_admin()) == ("owner", owner)


@pytest.mark.django_db
def test_an_admin_of_another_name_is_the_first_admin(ana: User) -> None:
    assert installation.first_admin() == ana


@pytest.mark.django_db
def test_a_kept_token_is_used_while_it_is_valid(ana: User, data: Path) -> None:
    token = installation.kept_token("shell", ana, local.SERVER)
    local.write(local.LocalServer(url="http://127.0.0.1:1", token=token))
    assert installation.kept_token("shell", ana, local.SERVER) == token
    assert installation.kept_token("demo", ana, local.SERVER) != token, "another agent's token is not taken over"
    (data / "server.json").write_text(json.dumps({"url": "x"}))
    assert installation.kept_token("shell", ana, local.SERVER) != token
