"""Bearer tokens. Whose a token is, a higher layer tells: it registers its look-up at start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request


class Caller(Protocol):
    """What this layer needs to know of who calls: a person or an agent."""

    @property
    def is_agent(self) -> bool:
        """Whether an agent calls."""

    @property
    def throttle_key(self) -> str:
        """One word per person or agent, however many tokens they have."""


TokenLookup = Callable[[str], Caller | None]

_lookups: list[TokenLookup] = []


def register_token_lookup(lookup: TokenLookup) -> None:
    """Tells how a raw token becomes its caller (None: unknown or revoked). Called once, at start."""
    _lookups[:] = [lookup]


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`. The caller becomes `request.user`."""

    def authenticate(self, request: Request) -> tuple[Any, str] | None:
        """The caller and "bearer"; None without a header. Raises AuthenticationFailed for a bad one."""
        scheme, _space, raw = get_authorization_header(request).partition(b" ")
        if not scheme:
            return None
        if scheme.lower() != b"bearer":
            raise AuthenticationFailed("Use the scheme Bearer in the Authorization header.")
        caller = next((lookup(raw.strip().decode("latin-1")) for lookup in _lookups), None)
        if caller is None:
            raise AuthenticationFailed("This token is unknown or was revoked.")
        return caller, "bearer"

    def authenticate_header(self, request: Request) -> str:
        """What a 401 carries as WWW-Authenticate."""
        return "Bearer"
