"""Daphne in this process, with limits, and an end that loses nothing under way (bugs case 117).

Importing this module installs Twisted's reactor: only `up` does, and first of all.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from daphne.server import Server, twisted_loop  # isort:skip -- must come before anything else of Twisted

import structlog
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from django.conf import settings
from twisted.internet import defer
from twisted.internet import reactor as installed_reactor
from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel

from . import metrics

# Its interfaces are declared for other checkers than ours.
reactor: Any = installed_reactor
log = structlog.get_logger(__name__)
access_log = structlog.get_logger("controlui.access")

# Django says it kindly up to here; beyond, a body is not even kept.
MAX_BODY_BYTES = 1024 * 1024
# How much more is read past for the sake of an answer that arrives; then the line is cut.
PATIENCE_BYTES = 16 * 1024 * 1024
# Browsers send nothing but pings and a close; what they send is ignored anyway.
MAX_SOCKET_BYTES = 16 * 1024
# Waits end after 120 s at the latest (controlui.api.wait).
ANSWER_SECONDS = 180
DRAIN_SECONDS = 10.0
GOING_AWAY = 1001
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

# Where Twisted's own log goes: what matters is in ours.
NOWHERE: Any = lambda _event: None  # noqa: E731 -- one line is all there is to it

Background = Callable[[asyncio.Event], Awaitable[None]]


class Channel(HTTPChannel):
    """One HTTP connection, known to the factory for as long as it is open and speaks HTTP."""

    def connectionMade(self) -> None:  # noqa: N802 -- Twisted's name
        """It is open."""
        self.factory.channels.add(self)
        super().connectionMade()  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]  # noqa: N802 -- Twisted's name
        """It is gone."""
        self.factory.channels.discard(self)
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def finish(self) -> None:
        """Closes it at once when idle, else after the answer under way."""
        self.persistent = False
        if not self.requests:
            self.loseConnection()  # type: ignore[no-untyped-call]


class Request(WebRequest):  # type: ignore[misc]  # Daphne has no types
    """A request whose body has an end."""

    received = 0
    refused = False

    def gotLength(self, length: int | None) -> None:  # noqa: N802 -- Twisted's name
        """The announced length; one that is too long is not kept."""
        self.refused = length is not None and length > MAX_BODY_BYTES
        super().gotLength(0 if self.refused else length)

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802 -- Twisted's name
        """A piece of the body, announced or not."""
        self.received += len(data)
        self.refused = self.refused or self.received > MAX_BODY_BYTES
        if not self.refused:
            super().handleContentChunk(data)
        elif self.received > PATIENCE_BYTES:
            self.channel.loseConnection()

    def process(self) -> Any:
        """Answers 413 itself; a socket's connection is no HTTP channel any more."""
        if self.refused:
            return self.refuse()
        if self.requestHeaders.hasHeader(b"Upgrade"):
            self.channel.factory.channels.discard(self.channel)
        return super().process()

    def refuse(self) -> None:
        """413 in the shape of every error (design section 5)."""
        message = f"The body is longer than {MAX_BODY_BYTES} bytes. Nothing was saved."
        body = json.dumps({"code": "body_too_large", "message": message, "details": []}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers.append((b"connection", b"close"))
        self.channel.persistent = False
        self.handle_reply({"type": "http.response.start", "status": 413, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": body})


class Factory(HTTPFactory):  # type: ignore[misc]  # Daphne has no types
    """Makes our channels, and knows those that are open."""

    protocol = Channel

    def __init__(self, server: ControlServer) -> None:
        super().__init__(server)
        self.channels: set[Channel] = set()

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802 -- Twisted's name
        """As Daphne's, with our request."""
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = Request
        return protocol


class ControlServer(Server):  # type: ignore[misc]  # Daphne has no types
    """Serves on a socket that listens already, runs `background` beside it, and stops with care.

    `on_ready` is called once requests are answered; `end_waits` lets waiting agents go with what they know.
    """

    def __init__(
        self,
        application: Any,
        listening: socket.socket,
        *,
        background: Background,
        on_ready: Callable[[], None],
        end_waits: Callable[[], None],
    ) -> None:
        super().__init__(
            application,
            endpoints=["adopted"],
            action_logger=count_and_log,
            http_timeout=ANSWER_SECONDS,
            ping_interval=20,
            ping_timeout=30,
            websocket_max_message_size=MAX_SOCKET_BYTES,
            websocket_max_frame_size=MAX_SOCKET_BYTES,
            server_name="",
        )
        self.listening = listening
        self.background = background
        self.on_ready = on_ready
        self.end_waits = end_waits
        self.connections: dict[Any, dict[str, Any]] = {}
        self.stop_background = asyncio.Event()
        self.stopping = False
        self.draining: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Until SIGTERM or SIGINT and the end of what was under way; a second signal ends it at once."""
        self.http_factory = Factory(self)
        self.ws_factory = WebSocketFactory(self, server=self.server_name)
        self.ws_factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,  # SameOriginOnly decides, with the settings at hand
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxMessagePayloadSize=self.websocket_max_message_size,
            maxFramePayloadSize=self.websocket_max_frame_size,
        )
        globalLogBeginner.beginLoggingTo([NOWHERE], redirectStandardIO=False, discardBuffer=True)
        asyncio.set_event_loop(twisted_loop)
        self.listening.setblocking(False)  # Twisted accepts until that would block, and must not wait there
        self.port = reactor.adoptStreamPort(self.listening.fileno(), self.listening.family, self.http_factory)
        self.listening.close()
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        reactor.addSystemEventTrigger("before", "shutdown", self.kill_all_applications)
        reactor.callWhenRunning(self.started)
        # What was loaded until here stays for good: the collector need not walk it again.
        gc.collect()
        gc.freeze()
        reactor.run(installSignalHandlers=False)

    def started(self) -> None:
        """The loop runs: take signals, start the background task, say so."""
        for number in (signal.SIGTERM, signal.SIGINT):
            twisted_loop.add_signal_handler(number, self.begin_stop)
        metrics.SOCKETS.set_function(lambda: len(self.sockets()))
        metrics.WAITING.set_function(lambda: sum(len(channel.requests) for channel in self.http_factory.channels))
        self.worker = twisted_loop.create_task(self.work())
        self.on_ready()

    async def work(self) -> None:
        """The background task. That it ends before it was told to is a fault that must be seen."""
        try:
            await self.background(self.stop_background)
        except Exception:
            log.exception("background_failed")
            self.begin_stop()

    def sockets(self) -> list[WebSocketProtocol]:
        """The open WebSockets."""
        return [
            protocol
            for protocol in self.connections
            if isinstance(protocol, WebSocketProtocol) and protocol.state == WebSocketProtocol.STATE_OPEN
        ]

    def begin_stop(self) -> None:
        """The first signal drains, the second does not wait."""
        if self.stopping:
            self.stop()
            return
        self.stopping = True
        log.info("stopping", requests=len(self.http_factory.channels), sockets=len(self.sockets()))
        self.stop_background.set()
        self.draining = twisted_loop.create_task(self.drain())

    async def drain(self) -> None:
        """No new connections; waits and sockets end now; answers under way get DRAIN_SECONDS; then out."""
        await defer.maybeDeferred(self.port.stopListening).asFuture(twisted_loop)
        deadline = twisted_loop.time() + DRAIN_SECONDS
        while self.is_busy() and twisted_loop.time() < deadline:
            # Again each time: a handshake or a request may have been half-way through the door.
            self.dismiss()
            await asyncio.sleep(0.02)
        log.info("stopped", cut_off=len(self.http_factory.channels))
        self.stop()

    def is_busy(self) -> bool:
        """Whether anybody is still connected, or the worker is finishing its batch."""
        return bool(self.http_factory.channels) or bool(self.open_protocols()) or not self.worker.done()

    def open_protocols(self) -> list[WebSocketProtocol]:
        """The WebSockets whose close is not done yet."""
        return [
            protocol
            for protocol, details in self.connections.items()
            if isinstance(protocol, WebSocketProtocol) and "disconnected" not in details
        ]

    def dismiss(self) -> None:
        """Ends waits, closes idle connections, and sockets with 1001: their pages reconnect at once."""
        self.end_waits()
        for channel in list(self.http_factory.channels):
            channel.finish()
        for protocol in self.sockets():
            protocol.sendCloseFrame(code=GOING_AWAY)

    def kill_all_applications(self) -> Any:
        """Cancels what is left when the time is over. Daphne's own trips over connections without an application."""
        left = [
            details["application_instance"]
            for details in self.connections.values()
            if "application_instance" in details and not details["application_instance"].done()
        ]
        for application in left:
            application.cancel()
        return defer.Deferred.fromFuture(asyncio.ensure_future(settle(left), loop=twisted_loop))


async def settle(tasks: list[asyncio.Future[Any]]) -> None:
    """Until all are done, whatever became of them."""
    await asyncio.gather(*tasks, return_exceptions=True)


def count_and_log(protocol: str, action: str, details: dict[str, Any]) -> None:
    """Daphne's report of what was done: counted always, written where ACCESS_LOG asks for it.

    The path is written without its query, which may hold a ticket; a sign-in link's secret is kept out by logs.py.
    """
    path = details["path"].partition("?")[0]
    if protocol == "http":
        # Whoever makes up methods does not make up series.
        method = details["method"] if details["method"] in METHODS else "OTHER"
        metrics.REQUESTS.labels(method, details["status"]).inc()
        if not path.endswith("/wait") and "wait=" not in details["path"]:
            metrics.SECONDS.observe(details["time_taken"])
    if not settings.ACCESS_LOG:
        return
    if protocol == "http":
        access_log.info(
            "request",
            method=details["method"],
            path=path,
            status=details["status"],
            ms=round(details["time_taken"] * 1000, 1),
            client=details["client"],
        )
    else:
        access_log.info(f"socket_{action}", path=path, client=details["client"])
