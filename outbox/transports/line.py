"""The line of one webhook call: to addresses that may be called only, cut at the end of its time, and known to have
carried something of the request or not. Imported on first use, since its library is only for webhooks."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpcore
from django.conf import settings

# A resolver cannot be told to hurry, so it is asked on a thread that nobody waits for longer than the call may take.
_resolvers = ThreadPoolExecutor(16, thread_name_prefix="resolver")
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class NotAllowed(Exception):
    """The address is private, and those are not called unless a setting allows it."""


class Way:
    """One call: `end` is its last moment on the monotonic clock; `begun`, whether the request has begun to leave."""

    def __init__(self, end: float, connect: float) -> None:
        self.end, self.connect, self.begun = end, connect, False

    @property
    def limits(self) -> dict[str, Any]:
        """The library's own limits for each step."""
        left = self.left(None)
        return {"timeout": {"connect": min(self.connect, left), "read": left, "write": left, "pool": left}}

    def left(self, limit: float | None) -> float:
        """Seconds for the next step."""
        left = max(0.001, self.end - time.monotonic())
        return left if limit is None else min(left, limit)


class BoundedStream(httpcore.NetworkStream):
    """A connection whose every step ends with the call, however slowly the other side drips."""

    def __init__(self, way: Way, line: httpcore.NetworkStream) -> None:
        self.way, self.line = way, line

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes. Raises httpcore.ReadTimeout."""
        if time.monotonic() >= self.way.end:
            raise httpcore.ReadTimeout
        return self.line.read(max_bytes, self.way.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """The request, or a piece of it; from here on it may have arrived."""
        self.way.begun = True
        self.line.write(buffer, self.way.left(timeout))

    def close(self) -> None:
        """Ends it."""
        self.line.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same over TLS; the certificate is for the name, not the address."""
        return BoundedStream(self.way, self.line.start_tls(ssl_context, server_hostname, self.way.left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        """What the library asks of a connection."""
        return self.line.get_extra_info(info)


class GuardedBackend(httpcore.NetworkBackend):
    """Resolves, checks, and connects to the very address that was checked: a name may be rebound meanwhile."""

    def __init__(self, way: Way) -> None:
        self.way, self.inner = way, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        """A connection. Raises NotAllowed, OSError, httpcore's errors."""
        error: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses(host, port, self.way.left(self.way.connect)):
            try:
                line = self.inner.connect_tcp(address, port, self.way.left(timeout), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                error = failed
            else:
                return BoundedStream(self.way, line)
        raise error


def addresses(host: str, port: int, seconds: float) -> list[str]:
    """The addresses of a host that may be called. Raises NotAllowed when there are some, and none may; OSError when
    the name is not known, or nobody says in time."""
    asked = _resolvers.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys(str(info[4][0]) for info in asked.result(seconds)))
    if settings.WEBHOOK_PRIVATE:
        return found
    public = [address for address in found if is_public(address)]
    if found and not public:
        raise NotAllowed("The agent's webhook has a private address, which is not called (WEBHOOK_PRIVATE).")
    return public


def is_public(address: str) -> bool:
    """Whether an address belongs to the open internet, in whatever form it is written."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inside = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inside is None and ip in NAT64:
            inside = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inside is not None and not inside.is_global:
            return False
    return ip.is_global and not ip.is_multicast
