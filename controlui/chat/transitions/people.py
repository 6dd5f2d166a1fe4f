"""People, agents, their tokens and sign-in links."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from controlui.chat import clock
from controlui.chat.errors import invalid
from controlui.chat.ids import digest, new_signing_secret, new_token
from controlui.chat.models import Agent, SignInLink, Token, User
from controlui.chat.scopes import ADMINS, GUESTS, OPERATORS, group_named
from controlui.errors import Conflict, NotFound

LINK_LIFETIME = dt.timedelta(hours=24)
URL_MAX = 2000
GROUPS = (ADMINS, OPERATORS, GUESTS)


def create_user(*, username: str, group: str = OPERATORS) -> User:
    """A person without a password: they come in by a sign-in link.

    Raises InvalidInput for an unknown group or a name that breaks the rules, Conflict for one in use.
    """
    if group not in GROUPS:
        raise invalid("group", "unknown_group", f"The group must be one of {', '.join(GROUPS)}.")
    try:
        User.username_validator(username)
    except Exception as error:
        raise invalid("username", "characters", "A name has letters, digits and @ . + - _ only.") from error
    if not 1 <= len(username) <= 150:
        raise invalid("username", "length", "A name has 1 to 150 characters.", limit=150)
    try:
        with transaction.atomic():
            user = User(username=username)
            user.set_unusable_password()
            user.save()
            user.groups.add(group_named(group))
    except IntegrityError as error:
        raise Conflict(f"There is a person named {username} already.", code="name_in_use") from error
    return user


def create_agent(*, name: str, owner: User | None = None, webhook_url: str = "", is_open: bool = False) -> Agent:
    """An agent. `is_open`: everybody may start conversations with it.

    Raises InvalidInput for a bad name, Conflict for one in use.
    """
    name = name.strip()
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise invalid("name", "length", "An agent's name has 1 to 100 printable characters.", limit=100)
    check_webhook(webhook_url)
    secret = new_signing_secret() if webhook_url else ""
    try:
        with transaction.atomic():
            return Agent.objects.create(
                name=name, owner=owner, webhook_url=webhook_url, webhook_secret=secret, is_open=is_open
            )
    except IntegrityError as error:
        raise Conflict(f"There is an agent named {name} already.", code="name_in_use") from error


def set_open(*, agent: Agent, is_open: bool) -> Agent:
    """Lets everybody start conversations with the agent, or only its owner and admins from now on."""
    agent.is_open = is_open
    agent.save(update_fields=["is_open"])
    return agent


def set_webhook(*, agent: Agent, url: str | None = None, new_secret: bool = False) -> tuple[Agent, bool]:
    """Sets the agent's webhook (""; none: it reads its inbox), or only makes a new secret; `(agent, whether the secret
    is new)`. Messages that wait go the new way. Raises InvalidInput."""
    url = agent.webhook_url if url is None else url
    check_webhook(url)
    if new_secret and not url:
        raise invalid("new-secret", "webhook", "This agent has no webhook. Give it one with --url.")
    made = bool(url) and (new_secret or not agent.webhook_secret)
    agent.webhook_url = url
    agent.webhook_secret = (new_signing_secret() if made else agent.webhook_secret) if url else ""
    agent.save(update_fields=["webhook_url", "webhook_secret"])
    return agent, made


def check_webhook(url: str) -> None:
    """Raises InvalidInput for an address that cannot be called; whether it may be is asked at each call."""
    if not url:
        return
    if not url.startswith(("http://", "https://")):
        raise invalid("webhook", "scheme", "A webhook's address begins with http:// or https://.")
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        # A name with an empty or an overlong part can never be looked up (RFC 1035 2.3.4).
        (parts.hostname or "").encode("idna")
    except ValueError:
        whole = False
    if not whole or not url.isascii() or not url.isprintable() or " " in url or len(url) > URL_MAX:
        raise invalid("webhook", "address", f"A webhook's address is a whole one, ASCII, at most {URL_MAX} characters.")
    if "@" in urlsplit(url).netloc:
        raise invalid("webhook", "credentials", "A webhook's address carries no name and no password.")


def create_token(*, agent: Agent | None = None, user: User | None = None) -> str:
    """A new bearer token of the agent or of the person. Shown once; only its digest is kept."""
    raw = new_token("agt" if agent else "usr")
    Token.objects.create(digest=digest(raw), agent=agent, user=user)
    return raw


def create_sign_in_link(*, user: User, at: dt.datetime | None = None) -> str:
    """The secret part of a link that signs the person in once, within 24 hours."""
    raw = new_token("in")
    SignInLink.objects.create(digest=digest(raw), user=user, expires_at=(at or clock.now()) + LINK_LIFETIME)
    return raw


def find_sign_in_link(raw: str) -> SignInLink | None:
    """The link with this secret, used or not."""
    return SignInLink.objects.select_related("user").filter(digest=digest(raw)).first()


def spend_sign_in_link(*, raw: str, at: dt.datetime | None = None) -> User:
    """Uses a link up and says whose it was. Of two presses at once, one wins.

    Raises NotFound (`link_unknown`), Conflict (`link_used`, `link_expired`).
    """
    at = at or clock.now()
    link = find_sign_in_link(raw)
    if link is None or not link.user.is_active:
        raise NotFound("This sign-in link is not known.", code="link_unknown")
    spent = SignInLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=at).update(used_at=at)
    if spent == 1:
        return link.user
    link.refresh_from_db()
    if link.used_at is not None:
        raise Conflict("This sign-in link was used already. Ask for a new one.", code="link_used")
    raise Conflict("This sign-in link has expired. Ask for a new one.", code="link_expired")
