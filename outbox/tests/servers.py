"""Small HTTP servers that behave as a test wants, on loopback, in a thread."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """What arrived."""

    head: bytes
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _colon, value in (line.partition(":") for line in lines if line)}


@dataclass
class Hook:
    """A server: reads one request for each connection, then does what `behave` says with the open line."""

    behave: Callable[[socket.socket], None]
    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    listening: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    ending: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it is."""
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self.listening.getsockname()[1]}/hook"

    def start(self) -> Hook:
        """Serves until the end of the test."""
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self) -> None:
        """Each connection on a thread of its own."""
        while not self.ending.is_set():
            try:
                line, _address = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(line,), daemon=True).start()

    def answer(self, line: socket.socket) -> None:
        """One request."""
        try:
            if self.tls:
                line = self.tls.wrap_socket(line, server_side=True)
            with line:
                self.requests.append(read_request(line))
                self.behave(line)
        except OSError:
            return

    def stop(self) -> None:
        """Nothing outlives the test."""
        self.ending.set()
        self.listening.close()


def read_request(line: socket.socket) -> Request:
    """A whole request with Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = line.recv(65536)
        if not piece:
            raise OSError("no request")
        data += piece
    head, _blank, body = data.partition(b"\r\n\r\n")
    length = int(Request(head, b"").headers.get("content-length", 0))
    while len(body) < length:
        body += line.recv(65536)
    return Request(head, body)


def says(status: str, body: bytes = b"", *headers: str) -> Callable[[socket.socket], None]:
    """Answers so."""

    def behave(line: socket.socket) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
        line.sendall("\r\n".join(lines).encode() + body)

    return behave


def in_turn(*behaviours: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    """One after the other, the last for ever."""
    left = list(behaviours)

    def behave(line: socket.socket) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(line)

    return behave


def hangs(until: threading.Event) -> Callable[[socket.socket], None]:
    """Takes the request and says nothing."""

    def behave(line: socket.socket) -> None:
        until.wait(30)

    return behave


def drips(until: threading.Event) -> Callable[[socket.socket], None]:
    """Sends its head a byte at a time, without end."""

    def behave(line: socket.socket) -> None:
        line.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not until.wait(0.02):
            line.sendall(b"x")

    return behave


def endless(sent: list[int]) -> Callable[[socket.socket], None]:
    """A body of a gigabyte; notes how much of it was taken."""

    def behave(line: socket.socket) -> None:
        line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        piece = b"x" * 65536
        try:
            for number in range(16384):
                line.sendall(piece)
                sent.append(number)
        except OSError:
            return

    return behave


def breaks(line: socket.socket) -> None:
    """Ends the line in the middle of its answer."""
    line.sendall(b"HTTP/1.1 200 O")


def nothing_listens() -> str:
    """An address where nobody is."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: Any = closed.getsockname()[1]
    return f"http://127.0.0.1:{port}/hook"
