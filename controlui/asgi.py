"""The server's callable: the wait door, sockets, then Django. Server-neutral: relies on no lifespan events."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlui.settings")
django.setup(set_prefix=False)

from channels.auth import AuthMiddlewareStack  # noqa: E402  (models load after Django is set up)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import WebsocketDenier  # noqa: E402
from django.conf import settings  # noqa: E402
from django.template.loader import get_template  # noqa: E402
from django.urls import get_resolver, path, re_path  # noqa: E402

from controlui.api.wait import WaitDoor  # noqa: E402
from controlui.live.consumer import LiveConsumer  # noqa: E402
from controlui.live.origin import SameOriginOnly  # noqa: E402


class OneHopHandler(ASGIHandler):
    """Django's handler with its middleware and views, all synchronous here, in one hop to a thread.

    Django would hop for each change between the kinds, which took more time than most views (bench/README.md).
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Loads the chain as synchronous callables."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Runs the whole chain in the request's own thread."""
        response: HttpResponseBase = await sync_to_async(self.get_response, thread_sensitive=True)(request)
        return response


sockets = URLRouter(
    [
        path("ws/", AuthMiddlewareStack(LiveConsumer.as_asgi())),
        # Anything else is refused like a foreign origin; without it the router raises, which is a 500.
        re_path("", WebsocketDenier.as_asgi()),
    ]
)
application = ProtocolTypeRouter({"http": WaitDoor(OneHopHandler()), "websocket": SameOriginOnly(sockets)})


def warm() -> None:
    """Loads what the first page of a new process would otherwise wait half a second for: routes and templates."""
    assert get_resolver().url_patterns
    for name in ("pages/conversation.html", "questions/_dock.html", "questions/_summary.html", "chat/_work.html"):
        get_template(name)


def keeper() -> Any:
    """One idle connection that keeps SQLite's log open: each request has its own connection, and closing the
    last one would write the log back, sync it and delete it, every time. None on other databases."""
    config = settings.DATABASES["default"]
    name = str(config["NAME"])
    if "sqlite3" not in config["ENGINE"] or not os.path.exists(name):  # noqa: PTH110  (a plain question)
        return None
    connection = sqlite3.connect(f"file:{name}?mode=rw", uri=True, check_same_thread=False)
    connection.execute("PRAGMA schema_version").fetchone()
    return connection


warm()
kept_open = keeper()
