"""The scopes a person has (study 1.8), and what they decide."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission

from controlui.chat.access import Actor, agents_for, conversations_for, may_speak, participates, takes_part
from controlui.chat.models import Agent, Conversation, Membership, User
from controlui.chat.scopes import (
    ADMIN,
    OF_GROUP,
    QUESTIONS,
    READ,
    SESSIONS_WRITE,
    WRITE,
    group_named,
    people_with,
    scopes_of,
)
from controlui.chat.transitions import create_user, set_open

pytestmark = pytest.mark.django_db


def person_with(*scopes: str) -> User:
    """Somebody in no group, with these scopes of their own."""
    user = User.objects.create_user(f"person-{User.objects.count()}")
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="chat", codename__in=scopes))
    return user


def again(user: User) -> User:
    """The person as the next request reads them."""
    return User.objects.get(pk=user.pk)


def test_the_groups_are_made_with_their_scopes() -> None:
    held = {
        group.name: {permission.codename for permission in group.permissions.all()} for group in Group.objects.all()
    }
    assert held == {name: set(scopes) for name, scopes in OF_GROUP.items()}


def test_a_lost_group_comes_back_whole() -> None:
    Group.objects.get(name="operators").delete()
    assert scopes_of(create_user(username="olga")) == {READ, WRITE, QUESTIONS, SESSIONS_WRITE}
    assert group_named("operators").permissions.count() == 3


@pytest.mark.parametrize(
    ("granted", "held"),
    [
        ((), set()),
        ((READ,), {READ}),
        ((SESSIONS_WRITE,), {SESSIONS_WRITE}),
        ((QUESTIONS,), {QUESTIONS}),
        ((WRITE,), {READ, WRITE, SESSIONS_WRITE}),
        ((ADMIN,), {READ, WRITE, QUESTIONS, SESSIONS_WRITE, ADMIN}),
    ],
)
def test_what_implies_what(granted: tuple[str, ...], held: set[str]) -> None:
    assert scopes_of(person_with(*granted)) == held


def test_django_itself_knows_the_scopes(ana: User, vic: User) -> None:
    assert ana.has_perm("chat.operator.admin")
    assert vic.has_perm("chat.operator.sessions.write")
    assert not vic.has_perm("chat.operator.questions")


def test_a_superuser_has_all_and_a_deactivated_person_none(ana: User) -> None:
    assert scopes_of(User(is_superuser=True)) == OF_GROUP["admins"]
    ana.is_active = False
    assert scopes_of(ana) == frozenset()


def test_who_has_a_scope_is_one_condition(ana: User, ben: User, vic: User) -> None:
    direct, boss = person_with(WRITE), User.objects.create_superuser("boss")
    expected = {
        ADMIN: {ana, boss},
        QUESTIONS: {ana, ben, boss},
        SESSIONS_WRITE: {ana, ben, vic, direct, boss},
        READ: {ana, ben, direct, boss},
    }
    for scope, people in expected.items():
        assert set(User.objects.filter(people_with(scope))) == people, scope
        assert {user for user in User.objects.all() if scope in scopes_of(user)} == people, scope


def test_a_role_that_is_taken_away_is_gone_with_the_next_request(conversation: Conversation, ben: User) -> None:
    assert takes_part(Actor(user=ben), conversation)
    ben.groups.clear()
    for rule in (takes_part, participates, may_speak):
        assert not rule(Actor(user=again(ben)), Conversation.objects.get(pk=conversation.pk)), rule.__name__
    assert not conversations_for(Actor(user=again(ben))).exists()


@pytest.mark.parametrize(
    ("granted", "role", "speaks"),
    [
        ((READ,), "participant", False),
        ((QUESTIONS,), "participant", False),
        ((SESSIONS_WRITE,), "participant", True),
        ((WRITE,), "participant", True),
        ((WRITE,), "viewer", False),
        ((ADMIN,), "viewer", True),
    ],
)
def test_who_may_write(conversation: Conversation, granted: tuple[str, ...], role: str, speaks: bool) -> None:
    user = person_with(*granted)
    actor = Actor(user=user)
    Membership.objects.create(conversation=conversation, user=user, role=role)
    assert conversation in conversations_for(actor)
    assert takes_part(actor, conversation)
    assert may_speak(actor, conversation) is speaks
    assert participates(actor, conversation) is (role == "participant" or ADMIN in granted)
    assert (conversation in conversations_for(actor, participating=True)) is participates(actor, conversation)


def test_which_agents_a_person_may_begin_with(agent: Agent, ana: User, ben: User, vic: User) -> None:
    def names(user: User) -> list[str]:
        return [found.name for found in agents_for(Actor(user=user))]

    assert [names(user) for user in (ana, ben, vic)] == [["builder"], [], []]
    set_open(agent=agent, is_open=True)
    assert [names(user) for user in (ana, ben, vic, person_with(READ))] == [["builder"], ["builder"], ["builder"], []]
    set_open(agent=agent, is_open=False)
    Agent.objects.filter(pk=agent.pk).update(owner=vic)
    assert [names(user) for user in (ana, ben, vic)] == [["builder"], [], ["builder"]]
