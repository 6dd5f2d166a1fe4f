"""A small HTTP/1.1 client on asyncio streams: a general one would take more of the two cores than the server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: its status, headers in lower case, and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Line:
    """One connection that is kept open; one request at a time."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.host, self.port = host, port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def call(
        self, method: str, path: str, *, token: str = "", data: Any = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Sends a request and reads the whole response. Raises on a connection that breaks."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        body = b"" if data is None else json.dumps(data).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        if data is not None:
            lines.append("Content-Type: application/json")
        if method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        return await self.read()

    async def read(self) -> Reply:
        """The next response."""
        assert self.reader is not None
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _colon, value in pairs}
        status = int(head[0].split()[1])
        if headers.get("transfer-encoding") == "chunked":
            body = await self.chunks(self.reader)
        elif status in {204, 304}:
            body = b""
        else:
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Reply(status, headers, body)

    @staticmethod
    async def chunks(reader: asyncio.StreamReader) -> bytes:
        """A chunked body."""
        parts = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readline()
        return b"".join(parts)

    def close(self) -> None:
        """Hangs up."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None
