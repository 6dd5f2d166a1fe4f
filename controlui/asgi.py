"""The server's callable: the wait door, sockets, then Django. Server-neutral: relies on no lifespan events."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlui.settings")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (models load after Django is set up)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.template.loader import get_template  # noqa: E402
from django.urls import get_resolver, path  # noqa: E402

from controlui.api.wait import WaitDoor  # noqa: E402
from controlui.live.consumer import LiveConsumer  # noqa: E402
from controlui.live.origin import SameOriginOnly  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": WaitDoor(django_application),
        "websocket": SameOriginOnly(AuthMiddlewareStack(URLRouter([path("ws/", LiveConsumer.as_asgi())]))),
    }
)


def warm() -> None:
    """Loads what the first page of a new process would otherwise wait half a second for: routes and templates."""
    assert get_resolver().url_patterns
    for name in ("pages/conversation.html", "questions/_dock.html", "questions/_summary.html", "chat/_work.html"):
        get_template(name)


warm()
