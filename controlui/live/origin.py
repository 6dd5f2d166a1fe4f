"""Refuses sockets from other origins: scheme, host and port must be the page's own (design section 7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Scope = dict[str, Any]
Application = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
PORTS = {"http": "80", "https": "443"}


class SameOriginOnly:
    """Wraps a socket application. A missing, `null` or foreign Origin is denied before the handshake."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if is_same_origin(headers, scope.get("scheme", "ws")):
            await self.application(scope, receive, send)
            return
        await WebsocketDenier()(scope, receive, send)


def is_same_origin(headers: Mapping[str, str], scheme: str) -> bool:
    """Whether the Origin header is this server's own address, as PUBLIC_URL or the Host header names it."""
    origin = urlsplit(headers.get("origin", ""))
    if origin.scheme not in PORTS or not origin.hostname:
        return False
    if settings.PUBLIC_URL and f"{origin.scheme}://{origin.netloc}" == settings.PUBLIC_URL:
        return True
    host, port = split_domain_port(headers.get("host", ""))
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        return False
    secure = scheme == "wss" or (settings.BEHIND_TLS and headers.get("x-forwarded-proto") == "https")
    ours = "https" if secure else "http"
    theirs_host, theirs_port = split_domain_port(origin.netloc)
    same_port = (theirs_port or PORTS[origin.scheme]) == (port or PORTS[ours])
    return origin.scheme == ours and theirs_host == host and same_port
