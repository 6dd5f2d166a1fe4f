"""The server's callable: the wait door, sockets, then Django. Server-neutral: relies on no lifespan events."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import django
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlui.settings")
django.setup(set_prefix=False)

from channels.auth import AuthMiddlewareStack  # noqa: E402  (models load after Django is set up)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import WebsocketDenier  # noqa: E402
from django.conf import settings  # noqa: E402
from django.template.loader import get_template  # noqa: E402
from django.urls import get_resolver, path, re_path, set_script_prefix  # noqa: E402

from controlui.api.inbox import InboxDoor  # noqa: E402
from controlui.api.wait import WaitDoor  # noqa: E402
from controlui.live.consumer import LiveConsumer  # noqa: E402
from controlui.live.origin import SameOriginOnly  # noqa: E402


class OneHopHandler(ASGIHandler):
    """Django's handler with its middleware and views, all synchronous here, in one hop to a thread that stays.

    Django would hop for each change between the kinds, and make a thread (and with it a connection to the database)
    for every request; both took more time than most views (bench/README.md). As under WSGI, a request's signals,
    its response's content and its end all belong to that one thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads = ThreadPoolExecutor(settings.WEB_THREADS, thread_name_prefix="web")

    def load_middleware(self, is_async: bool = False) -> None:
        """Loads the chain as synchronous callables."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request. The body is read here, so a slow sender holds no thread."""
        try:
            body_file = await self.read_body(receive)
        except RequestAborted:
            return
        loop = asyncio.get_running_loop()
        try:
            response = await loop.run_in_executor(self.threads, self.respond, scope, body_file)
            await self.send_response(response, send)
            if response.streaming:
                await loop.run_in_executor(self.threads, response.close)
        finally:
            body_file.close()

    def respond(self, scope: Any, body_file: Any) -> Any:
        """The whole chain in one thread. A response with its content in it is closed here, which also gives the
        connection back: the sending needs neither."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refused = self.create_request(scope, body_file)
        response: Any = refused if request is None else self.get_response(request)
        response._handler_class = self.__class__
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()
        return response


sockets = URLRouter(
    [
        path("ws/", AuthMiddlewareStack(LiveConsumer.as_asgi())),
        # Anything else is refused like a foreign origin; without it the router raises, which is a 500.
        re_path("", WebsocketDenier.as_asgi()),
    ]
)
application = ProtocolTypeRouter({"http": WaitDoor(InboxDoor(OneHopHandler())), "websocket": SameOriginOnly(sockets)})


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
