"""What a person may do at all: the seed's scopes, kept as Django permissions. Where and with whom is `access`' matter.

`operator.admin` implies every other. `operator.write` implies `operator.read` and `operator.sessions.write`, and not
`operator.questions` (study 1.8).
"""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

from .models import SCOPES, User
from .prepared import Prepared

READ, WRITE, QUESTIONS, SESSIONS_WRITE, ADMIN = (codename for codename, _words in SCOPES)
IMPLIED: dict[str, frozenset[str]] = {
    ADMIN: frozenset({READ, WRITE, QUESTIONS, SESSIONS_WRITE}),
    WRITE: frozenset({READ, SESSIONS_WRITE}),
}

ADMINS, OPERATORS, GUESTS = "admins", "operators", "guests"
# What each group is made with; an installation may change it in the database.
OF_GROUP: dict[str, frozenset[str]] = {
    ADMINS: frozenset({READ, WRITE, QUESTIONS, SESSIONS_WRITE, ADMIN}),
    OPERATORS: frozenset({READ, WRITE, QUESTIONS}),
    GUESTS: frozenset({SESSIONS_WRITE}),
}

_group_permissions = Group.permissions.through.objects
_user_permissions = User.user_permissions.through.objects
_granted = Prepared(
    lambda user: (
        Permission.objects.filter(
            Q(pk__in=_group_permissions.filter(group__user=user).order_by().values("permission"))
            | Q(pk__in=_user_permissions.filter(user=user).order_by().values("permission")),
            content_type__app_label="chat",
            codename__startswith="operator.",
        )
        .order_by()
        .values_list("codename")
    ),
    int,
)


def scopes_of(user: User) -> frozenset[str]:
    """Every scope the person has, directly, by a group or by another scope; read once per user object.

    None for somebody who is deactivated; all for a superuser.
    """
    if not user.is_active:
        return frozenset()
    if user.is_superuser:
        return OF_GROUP[ADMINS]
    cached: frozenset[str] | None = getattr(user, "_scopes", None)
    if cached is None:
        cached = remember(user, {codename for (codename,) in _granted(user.pk)})
    return cached


def remember(user: User, granted: set[str] | frozenset[str]) -> frozenset[str]:
    """Gives a user object its scopes, with what they imply."""
    scopes = frozenset(granted).union(*(IMPLIED.get(scope, frozenset()) for scope in granted))
    user._scopes = scopes  # type: ignore[attr-defined]
    return scopes


def group_named(name: str) -> Group:
    """One of the three groups, made with its scopes where an installation has lost it."""
    group, made = Group.objects.get_or_create(name=name)
    if made:
        grant(group)
    return group


def grant(group: Group) -> None:
    """Gives one of the three groups the scopes it is made with."""
    found = Permission.objects.filter(content_type__app_label="chat", codename__in=OF_GROUP[group.name])
    group.permissions.add(*found)


def people_with(scope: str) -> Q:
    """The condition on users for those who have a scope by a group, directly, or as superusers."""
    holds = [scope, *(wider for wider, implied in IMPLIED.items() if scope in implied)]
    named = Q(permission__content_type__app_label="chat", permission__codename__in=holds)
    by_group = _group_permissions.filter(named).values("group__user")
    directly = _user_permissions.filter(named).values("user")
    return Q(is_superuser=True) | Q(pk__in=by_group) | Q(pk__in=directly)
