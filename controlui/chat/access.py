"""The only way from (actor, id) to a conversation, and to what an actor may see of it.

Unknown and forbidden are the same NotFound (design rule 8). One condition per line.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db.models import Q, QuerySet
from django.utils import timezone

from controlui.errors import Forbidden, NotFound
from controlui.live import groups, tickets

from . import scopes
from .ids import can_exist, digest
from .models import Agent, Conversation, Membership, Stream, Token, User
from .prepared import Prepared
from .scopes import scopes_of

T = TypeVar("T")

# The part of who has every right in a conversation without a membership.
OWNER = "owner"
TOUCH_EVERY = dt.timedelta(minutes=1)

# Asked by every call of the API and every look of a waiter.
_tokens = Prepared(
    lambda value: Token.objects.select_related("agent__owner", "user").filter(digest=value, revoked_at=None), str
)
_conversations = Prepared(lambda uid: Conversation.objects.select_related("agent__owner").filter(uid=uid), str)
_streams = Prepared(lambda place: Stream.objects.filter(conversation=place).order_by("pk"), int)
_members = Prepared(lambda place, user: Membership.objects.filter(conversation=place, user=user), int, int)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who calls: a person or an agent, never both."""

    user: User | None = None
    agent: Agent | None = None

    @property
    def is_agent(self) -> bool:
        """Whether an agent's token, or a person, stands behind the call."""
        return self.agent is not None

    @property
    def is_admin(self) -> bool:
        """Whether everything of everybody may be seen."""
        return self.user is not None and is_admin(self.user)

    @property
    def throttle_key(self) -> str:
        """One bucket per person or agent, however many tokens they have."""
        return f"agent:{self.agent.pk}" if self.agent else f"user:{self.user.pk if self.user else 0}"


def is_admin(user: User) -> bool:
    """Whether the person may see and do everything."""
    return scopes.ADMIN in scopes_of(user)


def actor_of_token(raw: str) -> Actor | None:
    """The actor behind a bearer token; None when unknown, revoked, or of a deactivated person."""
    token = next(iter(_tokens(digest(raw))), None)
    if token is None:
        return None
    if token.user is not None and not token.user.is_active:
        return None
    if token.agent is not None and token.agent.owner is not None and not token.agent.owner.is_active:
        return None
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - TOUCH_EVERY:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return Actor(user=token.user, agent=token.agent)


def conversations_for(actor: Actor, *, participating: bool = False) -> QuerySet[Conversation]:
    """Every conversation the actor may open: an agent its own, a person those they take part in.

    `participating`: only where they may also act, which viewers may not.
    """
    everything = Conversation.objects.select_related("agent__owner")
    if actor.agent is not None:
        return everything.filter(agent=actor.agent)
    user = actor.user
    if user is None or not scopes_of(user):
        return everything.none()
    if is_admin(user):
        return everything
    memberships = Membership.objects.filter(user=user)
    if participating:
        memberships = memberships.filter(role=Membership.Role.PARTICIPANT)
    mine = Q(agent__owner=user) | Q(pk__in=memberships.values("conversation"))
    return everything.filter(mine, sessionless=False)


class ByScopes(Generic[T]):
    """A prepared query whose shape hangs on what the person may do: one for each set of scopes. `build` gets an Actor
    that stands for any person with these scopes, then the marks of `kinds`."""

    def __init__(self, build: Callable[..., QuerySet[Any, T]], *kinds: type) -> None:
        self.build, self.kinds = build, kinds
        self.prepared: dict[frozenset[str], Prepared[T]] = {}

    def __call__(self, user: User, *values: Any) -> list[T]:
        held = scopes_of(user)
        if not held:
            return []
        if held not in self.prepared:
            self.prepared[held] = Prepared(
                lambda pk, *marks: self.build(stand_in(pk, held), *marks), int, *self.kinds, needs_all=False
            )
        try:
            return self.prepared[held](user.pk, *values)
        except EmptyResultSet:
            return []


def stand_in(pk: int, held: frozenset[str]) -> Actor:
    """Somebody with these scopes, who is not in the database."""
    user = User(pk=pk, is_active=True)
    scopes.remember(user, held)
    return Actor(user=user)


def takes_part(actor: Actor, conversation: Conversation) -> bool:
    """Whether the actor may open this very conversation: the rule of `conversations_for` for a row already read
    (its agent too)."""
    return part_of(actor, conversation) is not None


def participates(actor: Actor, conversation: Conversation) -> bool:
    """Whether the actor may act here, and not only look on: the same rule with `participating`."""
    return part_of(actor, conversation) in {OWNER, Membership.Role.PARTICIPANT}


def part_of(actor: Actor, conversation: Conversation) -> str | None:
    """The actor's part here: OWNER (its agent, that one's owner, an admin), a membership's role, or None."""
    if actor.agent is not None:
        return OWNER if conversation.agent_id == actor.agent.pk else None
    user = actor.user
    if user is None or not scopes_of(user):
        return None
    if is_admin(user):
        return OWNER
    if conversation.sessionless:
        return None
    if conversation.agent.owner_id == user.pk:
        return OWNER
    # Asked several times of one row that was just read.
    known: dict[int, str | None] = conversation.__dict__.setdefault("_parts", {})
    if user.pk not in known:
        known[user.pk] = next((member.role for member in _members(conversation.pk, user.pk)), None)
    return known[user.pk]


def get_conversation_for(actor: Actor, uid: str, *, need: str = "read") -> Conversation:
    """The conversation with this uid. `need="write"`: to say something in it.

    Raises NotFound when it is unknown or not the actor's, Forbidden when they may only read it.
    """
    conversation = next(iter(_conversations(uid)), None) if can_exist(uid) else None
    if conversation is None or not takes_part(actor, conversation):
        raise NotFound
    if need == "write":
        require_voice(actor, conversation)
    return conversation


def get_session_for(actor: Actor, key: str, *, need: str = "read") -> Conversation:
    """The conversation that the agent calls `key`; a person's key may fit several agents: the newest."""
    conversation = conversations_for(actor).filter(key=key, sessionless=False).order_by("-active_at").first()
    if conversation is None:
        raise NotFound
    if need == "write":
        require_voice(actor, conversation)
    return conversation


def require_voice(actor: Actor, conversation: Conversation) -> None:
    """Raises Forbidden when the actor may read but not speak here."""
    if not may_speak(actor, conversation):
        raise Forbidden("You may read this conversation, but not write in it.", code="read_only")


def may_speak(actor: Actor, conversation: Conversation) -> bool:
    """Whether messages of this actor are taken."""
    if conversation.archived_at is not None:
        return False
    if conversation.read_only:
        return False
    if actor.user is not None and scopes.SESSIONS_WRITE not in scopes_of(actor.user):
        return False
    return participates(actor, conversation)


def sees_prompts_for(actor: Actor, conversation: Conversation, audience_id: int | None) -> bool:
    """Whether the actor, who takes part here, may see prompts of runs that act for `audience_id` (nobody: of no run
    at all, or administrative).

    Admins see all; who has `operator.questions` the ordinary ones; who has only `operator.sessions.write` what runs
    acting for them ask, in conversations they created (seed, guests; study 1.8).
    """
    if actor.agent is not None:
        return conversation.agent_id == actor.agent.pk
    user = actor.user
    if user is None:
        return False
    if is_admin(user):
        return True
    if conversation.sessionless or audience_id is None:
        return False
    if scopes.QUESTIONS in scopes_of(user):
        return True
    if scopes.SESSIONS_WRITE not in scopes_of(user):
        return False
    if audience_id != user.pk:
        return False
    return conversation.created_by_id == user.pk


def visible_streams(actor: Actor, conversation: Conversation) -> list[Stream]:
    """The streams of a conversation that the actor may see; they must be allowed to open it."""
    return [
        stream
        for stream in _streams(conversation.pk)
        if not stream.prompts or sees_prompts_for(actor, conversation, stream.audience_id)
    ]


def people_of(conversation: Conversation) -> list[User]:
    """Everybody whose open pages may have to learn of a new stream: owner, members, admins."""
    mine = Q(memberships__conversation=conversation) | scopes.people_with(scopes.ADMIN)
    if conversation.agent.owner_id is not None:
        mine |= Q(pk=conversation.agent.owner_id)
    return list(User.objects.filter(mine, is_active=True).distinct())


def ticket_for(user: User, streams: list[Stream], language: str) -> str:
    """A socket ticket for exactly these streams, the person's own group, and the lists they may follow."""
    names = [groups.stream_group(stream.uid, language) for stream in streams]
    return tickets.sign(user.pk, [groups.user_group(user.pk), *names, *list_groups_of(user)])


def list_groups_of(user: User, *, limit: int = 50) -> list[str]:
    """The groups that tell this person's pages of prompts in other conversations (badges and titles).

    Admins hear of all; who has `operator.questions` of the conversations they act in, the newest; who has only
    `operator.sessions.write` of what runs acting for them ask where they created the conversation.
    """
    held = scopes_of(user)
    if scopes.ADMIN in held:
        return [groups.admins_list_group()]
    mine = conversations_for(Actor(user=user), participating=True).order_by("-active_at")
    if scopes.QUESTIONS in held:
        return [groups.conversation_list_group(uid) for uid in mine.values_list("uid", flat=True)[:limit]]
    if scopes.SESSIONS_WRITE not in held:
        return []
    own = mine.filter(created_by=user).values_list("uid", flat=True)[:limit]
    return [groups.person_list_group(user.pk, uid) for uid in own]


def agents_for(actor: Actor) -> QuerySet[Agent]:
    """The agents that this person may start a conversation with: an admin any, others their own and the open ones."""
    user = actor.user
    if user is None or scopes.SESSIONS_WRITE not in scopes_of(user):
        return Agent.objects.none()
    if is_admin(user):
        return Agent.objects.all()
    return Agent.objects.filter(Q(owner=user) | Q(is_open=True))
