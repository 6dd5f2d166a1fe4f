"""The commands' HTTP client against a server that misbehaves in every way that a restart or a proxy can."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from controlui.ops.client import Client, NoServer, Refused, as_json, lifetime
from controlui.ops.local import LocalServer

Reply = tuple[int, dict[str, str], bytes] | None


@pytest.fixture
def scripted() -> Iterator[Callable[..., Client]]:
    """A client of a server that gives these replies one after the other; None cuts the line."""
    servers: list[HTTPServer] = []

    def start(*replies: Reply) -> Client:
        left = list(replies)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reply = left.pop(0)
                if reply is None:
                    return
                status, headers, body = reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words: object) -> None:
                """Says nothing."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return Client(lambda: LocalServer(url=f"http://127.0.0.1:{server.server_port}", token="agt_x"))

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def reply(status: int, body: object = None, **headers: str) -> Reply:
    return status, headers, json.dumps(body or {}).encode()


def test_a_refusal_tells_every_fault(scripted: Callable[..., Client]) -> None:
    faults = [{"path": "questions[0].header", "rule": "blank", "message": "A header is needed."}]
    client = scripted(reply(422, {"code": "invalid_input", "message": "Two rules are broken.", "details": faults}))
    with pytest.raises(Refused) as refused:
        client.call("GET", "/x")
    assert str(refused.value) == "Two rules are broken.\n  questions[0].header: A header is needed. (blank)"
    assert (refused.value.status, refused.value.body["code"]) == (422, "invalid_input")


@pytest.mark.parametrize(
    "trouble",
    [reply(503, {"message": "Busy."}), (502, {}, b"<html>Bad gateway</html>"), (200, {}, b"not JSON"), None],
    ids=["busy", "bad gateway", "no JSON", "cut line"],
)
def test_what_may_pass_is_tried_again(scripted: Callable[..., Client], trouble: Reply) -> None:
    client = scripted(trouble, reply(200, {"status": "answered"}))
    assert client.persist("GET", "/x", until=time.monotonic() + 30) == {"status": "answered"}
    with pytest.raises(NoServer) as gone:
        scripted(trouble).call("GET", "/x")
    assert gone.value.reached


def test_a_limit_is_waited_out(scripted: Callable[..., Client]) -> None:
    client = scripted(reply(429, {"code": "too_many_requests"}, **{"Retry-After": "0"}), reply(200, {"id": "p"}))
    assert client.persist("GET", "/x", until=time.monotonic() + 30) == {"id": "p"}


def test_patience_has_an_end(scripted: Callable[..., Client]) -> None:
    with pytest.raises(NoServer):
        scripted(reply(503)).persist("GET", "/x", until=time.monotonic() - 1)


def test_a_refusal_is_not_tried_again(scripted: Callable[..., Client]) -> None:
    with pytest.raises(Refused):
        scripted(reply(404), reply(200)).persist("GET", "/x", until=time.monotonic() + 30)


def test_nobody_there_is_told_apart_from_a_lost_answer() -> None:
    client = Client(lambda: LocalServer(url="http://127.0.0.1:1", token="x"))
    with pytest.raises(NoServer) as gone:
        client.call("GET", "/x")
    assert not gone.value.reached


def test_a_wait_goes_on_until_the_end(scripted: Callable[..., Client]) -> None:
    times = {"createdAt": "2026-12-01T10:00:00.000Z", "expiresAt": "2026-12-01T10:15:00.000Z"}
    record = {"id": "p", "status": "pending", **times}
    client = scripted(reply(200, record), None, reply(200, record | {"status": "answered"}))
    assert lifetime(record) == 900
    assert client.wait(record)["status"] == "answered"


def test_json_for_a_terminal_cannot_steer_it() -> None:
    hostile = {"text": "a\x1b[31m\x9b2J\u202edlrow 生产"}
    line = as_json(hostile)
    assert json.loads(line) == hostile
    assert not set(line) & set("\x1b\x9b\u202e")
    assert "生产" in line
