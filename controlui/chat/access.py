"""The only way from (actor, id) to a conversation, and to what an actor may see of it.

Unknown and forbidden are the same NotFound (design rule 8). One condition per line.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet
from django.utils import timezone

from controlui.errors import Forbidden, NotFound
from controlui.live import groups, tickets

from .ids import can_exist, digest
from .models import Agent, Conversation, Membership, Stream, Token, User
from .prepared import Prepared

T = TypeVar("T")

ADMINS, OPERATORS, GUESTS = "admins", "operators", "guests"
TOUCH_EVERY = dt.timedelta(minutes=1)

# Asked by every call of the API and every look of a waiter.
_tokens = Prepared(
    lambda value: Token.objects.select_related("agent__owner", "user").filter(digest=value, revoked_at=None), str
)
_groups = Prepared(lambda user: Group.objects.filter(user=user), int)
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


def group_names(user: User) -> frozenset[str]:
    """The person's groups, read once per user object."""
    cached: frozenset[str] | None = getattr(user, "_group_names", None)
    if cached is None:
        cached = frozenset(group.name for group in _groups(user.pk))
        user._group_names = cached  # type: ignore[attr-defined]
    return cached


def is_admin(user: User) -> bool:
    """A superuser, or a member of the group `admins`."""
    return user.is_active and (user.is_superuser or ADMINS in group_names(user))


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


def conversations_for(actor: Actor) -> QuerySet[Conversation]:
    """Every conversation the actor may open: an agent its own, a person those they take part in."""
    everything = Conversation.objects.select_related("agent__owner")
    if actor.agent is not None:
        return everything.filter(agent=actor.agent)
    user = actor.user
    if user is None or not user.is_active:
        return everything.none()
    if is_admin(user):
        return everything
    takes_part = Q(agent__owner=user) | Q(pk__in=Membership.objects.filter(user=user).values("conversation"))
    return everything.filter(takes_part, sessionless=False)


class ByRole(Generic[T]):
    """A prepared query whose shape hangs on what the person may see: one for each role. `build` gets an Actor that
    stands for any person of that role, then the marks of `kinds`."""

    def __init__(self, build: Callable[..., QuerySet[Any, T]], *kinds: type) -> None:
        self.build, self.kinds = build, kinds
        self.prepared: dict[frozenset[str], Prepared[T]] = {}

    def __call__(self, user: User, *values: Any) -> list[T]:
        role = role_of(user)
        if role not in self.prepared:
            self.prepared[role] = Prepared(
                lambda pk, *marks: self.build(stand_in(pk, role), *marks), int, *self.kinds, needs_all=False
            )
        return self.prepared[role](user.pk, *values)


def role_of(user: User) -> frozenset[str]:
    """What of a person decides which rows they may see, beside who they are."""
    if not user.is_active:
        return frozenset()
    return frozenset({ADMINS}) if is_admin(user) else group_names(user) & {OPERATORS, GUESTS}


def stand_in(pk: int, role: frozenset[str]) -> Actor:
    """Somebody with a role, who is not in the database."""
    user = User(pk=pk, is_active=True)
    user._group_names = role  # type: ignore[attr-defined]
    return Actor(user=user)


def takes_part(actor: Actor, conversation: Conversation) -> bool:
    """Whether the actor may open this very conversation: the rule of `conversations_for` for a row already read
    (its agent too)."""
    if actor.agent is not None:
        return conversation.agent_id == actor.agent.pk
    user = actor.user
    if user is None or not user.is_active:
        return False
    if is_admin(user):
        return True
    if conversation.sessionless:
        return False
    if conversation.agent.owner_id == user.pk:
        return True
    return bool(_members(conversation.pk, user.pk))


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
    if actor.agent is not None or actor.is_admin:
        return True
    if actor.user is not None and conversation.agent.owner_id == actor.user.pk:
        return True
    viewer = Membership.objects.filter(conversation=conversation, user=actor.user, role=Membership.Role.VIEWER)
    return not viewer.exists()


def sees_prompts_for(actor: Actor, conversation: Conversation, audience_id: int | None) -> bool:
    """Whether the actor may see, and so answer, prompts of runs that act for `audience_id`.

    Admins see all; operators those of the conversations they take part in; everybody else only what
    runs acting for them ask, and guests that only in conversations they created (seed, guests).
    """
    if actor.agent is not None:
        return conversation.agent_id == actor.agent.pk
    user = actor.user
    if user is None or not user.is_active:
        return False
    if is_admin(user):
        return True
    if conversation.sessionless:
        return False
    if OPERATORS in group_names(user):
        return audience_id is not None
    if audience_id != user.pk:
        return False
    if GUESTS in group_names(user):
        return conversation.created_by_id == user.pk
    return True


def visible_streams(actor: Actor, conversation: Conversation) -> list[Stream]:
    """The streams of a conversation that the actor may see; they must be allowed to open it."""
    return [
        stream
        for stream in _streams(conversation.pk)
        if not stream.prompts or sees_prompts_for(actor, conversation, stream.audience_id)
    ]


def people_of(conversation: Conversation) -> list[User]:
    """Everybody whose open pages may have to learn of a new stream: owner, members, admins."""
    takes_part = Q(memberships__conversation=conversation) | Q(groups__name=ADMINS) | Q(is_superuser=True)
    if conversation.agent.owner_id is not None:
        takes_part |= Q(pk=conversation.agent.owner_id)
    return list(User.objects.filter(takes_part, is_active=True).distinct())


def ticket_for(user: User, streams: list[Stream], language: str) -> str:
    """A socket ticket for exactly these streams, the person's own group, and the lists they may follow."""
    names = [groups.stream_group(stream.uid, language) for stream in streams]
    return tickets.sign(user.pk, [groups.user_group(user.pk), *names, *list_groups_of(user)])


def list_groups_of(user: User, *, limit: int = 50) -> list[str]:
    """The groups that tell this person's pages of prompts in other conversations (badges and titles).

    Admins hear of all; operators of the conversations they take part in, the newest; others of what runs
    acting for them ask, and guests of that only where they created the conversation.
    """
    if is_admin(user):
        return [groups.admins_list_group()]
    mine = conversations_for(Actor(user=user)).order_by("-active_at")
    if OPERATORS in group_names(user):
        return [groups.conversation_list_group(uid) for uid in mine.values_list("uid", flat=True)[:limit]]
    if GUESTS not in group_names(user):
        return [groups.person_list_group(user.pk)]
    own = mine.filter(created_by=user).values_list("uid", flat=True)[:limit]
    return [groups.person_list_group(user.pk, uid) for uid in own]
