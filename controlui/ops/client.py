"""The public HTTP API, as a command of this machine speaks it. Nothing here touches the database."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from . import local

UNSAFE = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
PAGE_LINK = re.compile(r'<(?P<page>[^>]*)>; rel="alternate"')
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
# A wait ends after at most this long and is taken up again: below the idle time of common proxies.
WAIT_SECONDS = 50
ANSWER_SECONDS = 30.0
# How long past its end a prompt is still asked for, while the server is away.
GRACE_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 3.0

Record = dict[str, Any]


class NoServer(Exception):
    """Nobody answers, or the answer got lost: the same call may be made again. `reached`: somebody was there."""

    def __init__(self, message: str, *, reached: bool = False) -> None:
        self.reached = reached
        super().__init__(message)


def sentence(body: Record) -> str:
    """What an error says, each fault with its field and rule."""
    faults = [
        f"  {fault.get('path')}: {fault.get('message') or ''} ({fault.get('rule')})" for fault in body["details"] or []
    ]
    return "\n".join([str(body["message"]), *faults])


class Refused(Exception):
    """The server understood and said no. `retry_after`: seconds to wait first, where it named them."""

    def __init__(self, status: int, body: Record, retry_after: float | None = None) -> None:
        self.status = status
        self.body = body
        self.retry_after = retry_after
        body.setdefault("message", f"The server answered {status}.")
        body.setdefault("details", [])
        super().__init__(sentence(body))


def find_server() -> local.LocalServer:
    """CONTROLUI_URL and CONTROLUI_TOKEN, else what `up` wrote for this machine. Raises NoServer."""
    url, token = os.environ.get("CONTROLUI_URL", "").rstrip("/"), os.environ.get("CONTROLUI_TOKEN", "")
    if url or token:
        if not (url and token):
            missing = "CONTROLUI_TOKEN" if url else "CONTROLUI_URL"
            raise NoServer(f"{missing}: must be set too, for CONTROLUI_URL and CONTROLUI_TOKEN go together.")
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise NoServer(f"CONTROLUI_URL: {url!r} must be an http or https address.")
        return local.LocalServer(url=url, token=token)
    found = local.read()
    if found is None:
        raise NoServer(
            f"No server has been started here ({local.path()} is missing). Start one: python manage.py up. "
            "For one elsewhere set CONTROLUI_URL and CONTROLUI_TOKEN."
        )
    return found


def await_server(seconds: float) -> None:
    """Returns once the server is ready, which may be starting just now. Raises NoServer when it stays away."""
    end = time.monotonic() + seconds
    while True:
        try:
            url = find_server().url
            with opener(url).open(f"{url}/readyz", timeout=ANSWER_SECONDS):
                return
        except (NoServer, OSError, http.client.HTTPException) as error:
            if time.monotonic() >= end:
                raise NoServer(f"No server was ready within {seconds:g} seconds: {error}") from error
        time.sleep(FIRST_PAUSE)


class Client:
    """Calls the API. `find` is asked at each call: a server may come back on another port.

    `page`: the address for people that goes with what was opened last, as the server names it in `Link`.
    """

    def __init__(self, find: Callable[[], local.LocalServer] = find_server) -> None:
        self.find = find
        self.page = ""

    def call(
        self, method: str, path: str, body: Record | None = None, *, key: str = "", seconds: float = ANSWER_SECONDS
    ) -> Record:
        """One call to `/api/v1<path>`. Raises Refused for a 4xx, NoServer for anything that may pass."""
        server = self.find()
        request = urllib.request.Request(f"{server.url}/api/v1{path}", method=method)  # noqa: S310 -- find checks it
        request.add_header("Authorization", f"Bearer {server.token}")
        request.add_header("Accept", "application/json")
        if key:
            request.add_header("Idempotency-Key", key)
        if method == "POST":
            request.data = json.dumps(body or {}).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with opener(server.url).open(request, timeout=seconds) as answer:
                found: Record = json.load(answer)
                link = PAGE_LINK.match(answer.headers.get("Link", ""))
                self.page = urljoin(f"{server.url}/", link["page"] if link else "")
                return found
        except urllib.error.HTTPError as error:
            raise self.fault(error) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = getattr(error, "reason", error)
            never = isinstance(cause, ConnectionRefusedError | socket.gaierror)
            raise NoServer(f"No answer from {server.url} ({reason(cause)}).", reached=not never) from error

    def fault(self, error: urllib.error.HTTPError) -> Refused | NoServer:
        """What an error status means for the caller."""
        with error:
            try:
                body = json.load(error)
            except (OSError, ValueError):
                body = {}
        if error.code >= 500:
            return NoServer(body.get("message") or f"The server answered {error.code}.", reached=True)
        after = error.headers.get("Retry-After", "")
        return Refused(error.code, body, float(after) if after.isdecimal() else None)

    def persist(self, *call: Any, until: float, **options: Any) -> Record:
        """As `call`, but through restarts and limits of the server, up to the monotonic time `until`."""
        pause = FIRST_PAUSE
        while True:
            try:
                return self.call(*call, **options)
            except NoServer:
                if time.monotonic() >= until:
                    raise
            except Refused as refused:
                if refused.status != 429 or time.monotonic() >= until:
                    raise
                pause = refused.retry_after or pause
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(pause * 2, LONGEST_PAUSE)

    def wait(self, record: Record) -> Record:
        """Holds on to a prompt until its end, however often the line or the server goes.

        Raises Refused, and NoServer when the server stays away for long after the prompt's own end.
        """
        path = f"/questions/{record['id']}/wait?seconds={WAIT_SECONDS}"
        start = time.monotonic()
        while record["status"] in {"pending", "submitted"}:
            until = start + lifetime(record) + GRACE_SECONDS
            record = self.persist("GET", path, until=until, seconds=WAIT_SECONDS + ANSWER_SECONDS)
        return record


def lifetime(record: Record) -> float:
    """Seconds from a prompt's beginning to its end, by the server's clock: ours may be wrong."""
    if record["expiresAt"] is None:
        return float("inf")
    created, expires = (datetime.fromisoformat(record[name]) for name in ("createdAt", "expiresAt"))
    return (expires - created).total_seconds()


def as_json(value: object) -> str:
    """One line of JSON that a terminal may be shown: what steers it, or turns text about, is escaped."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))


def opener(url: str) -> urllib.request.OpenerDirector:
    """Proxies of the environment are for other machines, never for a server on this one."""
    if urlsplit(url).hostname in LOOPBACK:
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener()


def reason(cause: object) -> str:
    """The words of a lost connection."""
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
