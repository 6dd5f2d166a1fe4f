"""The agent's webhook: one signed POST for each attempt, after the Standard Webhooks specification (docs/webhooks.md).

What an answer means: 2xx accepts, 4xx and a redirect fail, nobody there or 5xx is tried again later; once the request
was on its way and no answer came, nobody knows. Nothing here touches the database.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
import ssl
import time
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from controlui.chat.ids import SIGNING_PREFIX
from controlui.chat.models import Agent
from outbox.models import Delivery

from .content import content

CONNECT_SECONDS, TOTAL_SECONDS = 5.0, 10.0
# Before the second, third, ... attempt. After the last of them it has failed, and a person may retry.
PAUSES = tuple(dt.timedelta(seconds=seconds) for seconds in (5, 30, 120, 600, 1800, 3600))
LONGEST_PAUSE = PAUSES[-1]


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of an attempt: `outcome` is "accepted", "refused", "later" or "unknown"; `code`: outbox.words."""

    outcome: str
    code: str = ""
    http_status: int | None = None
    retry_after: dt.timedelta | None = None


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: HMAC-SHA256 over id, timestamp and body."""
    key = base64.b64decode(secret.removeprefix(SIGNING_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def send(delivery: Delivery, agent: Agent, *, now: int | None = None) -> Reply:
    """One attempt, over within TOTAL_SECONDS. `now`: the timestamp that is signed, in seconds; injected by tests."""
    body = json.dumps(content(delivery), ensure_ascii=False).encode()
    timestamp = int(time.time()) if now is None else now
    headers = {
        "Host": urlsplit(agent.webhook_url).netloc,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "User-Agent": "control-ui",
        "Connection": "close",
        "webhook-id": delivery.uid,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(agent.webhook_secret, delivery.uid, timestamp, body),
    }
    return post(agent.webhook_url, headers, body)


def post(url: str, headers: dict[str, str], body: bytes) -> Reply:
    """POSTs, reads the head of the answer and nothing of its body, and says what it means."""
    import httpcore  # on first use: most installations have no webhook

    from .line import GuardedBackend, NotAllowed, Way

    way = Way(time.monotonic() + TOTAL_SECONDS, CONNECT_SECONDS)
    tls = trusted() if url.startswith("https:") else None
    pool = httpcore.ConnectionPool(ssl_context=tls, network_backend=GuardedBackend(way))
    fields = list(headers.items())
    try:
        with pool, pool.stream("POST", url, headers=fields, content=body, extensions=way.limits) as answer:
            return meaning(answer.status, dict(answer.headers))
    except NotAllowed:
        return Reply("refused", "address_not_allowed")
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, UnicodeError) as error:
        return trouble(error, begun=way.begun)


@cache
def trusted() -> ssl.SSLContext:
    """Whom the machine trusts, read once: it takes longer than a call."""
    return ssl.create_default_context()


def meaning(status: int, headers: dict[bytes, bytes]) -> Reply:
    """What an answer's status means."""
    if 200 <= status < 300:
        return Reply("accepted", http_status=status)
    if 300 <= status < 400:
        return Reply("refused", "redirected", status)
    if status == 429 or status >= 500:
        return Reply("later", f"http_{status}", status, pause_asked(headers))
    return Reply("refused", f"http_{status}", status)


def pause_asked(headers: dict[bytes, bytes]) -> dt.timedelta | None:
    """`Retry-After` in seconds, within bounds; None when there is none that we read."""
    for name, value in headers.items():
        if name.lower() == b"retry-after" and value.isdigit() and len(value) < 10:
            return min(dt.timedelta(seconds=int(value)), LONGEST_PAUSE)
    return None


def trouble(error: Exception, *, begun: bool) -> Reply:
    """What a broken line means: before the request was on its way it can be sent again without any doubt."""
    if begun:
        return Reply("unknown", "no_answer")
    # The library hands the cause on as the argument of its own error.
    if any(isinstance(cause, ssl.SSLError) for cause in (error, *error.args)):
        return Reply("refused", "tls")
    return Reply("later", "unreachable")
