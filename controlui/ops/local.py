"""CONTROLUI_DATA/server.json: where the running server of this machine is, and a token for the shell's agent."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True, slots=True)
class LocalServer:
    """The address of a server, without a slash at the end, and a bearer token of an agent."""

    url: str
    token: str


def path() -> Path:
    """The file, of mode 0600."""
    return Path(settings.DATA_DIR) / "server.json"


def read() -> LocalServer | None:
    """What `up` wrote last, whether it still runs or not; None when there is nothing usable."""
    try:
        found = json.loads(path().read_text())
        return LocalServer(url=str(found["url"]), token=str(found["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(server: LocalServer) -> None:
    """Replaces the file at once: a reader sees the old one or the new one, and nobody else sees either."""
    draft = path().with_suffix(f".{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"url": server.url, "token": server.token}, file)
    draft.replace(path())
