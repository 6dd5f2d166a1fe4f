"""What commands of this machine find under CONTROLUI_DATA: the running server's address, and tokens of agents.

`server.json` has the address and the token of the shell's agent; `demo_agent.json` that of the demo.
"""

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


SERVER, DEMO = "server.json", "demo_agent.json"


def path(name: str = SERVER) -> Path:
    """The file, of mode 0600."""
    return Path(settings.DATA_DIR) / name


def read(name: str = SERVER) -> LocalServer | None:
    """What was written last, whether the server still runs or not; None when there is nothing usable."""
    try:
        found = json.loads(path(name).read_text())
        return LocalServer(url=str(found["url"]), token=str(found["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(server: LocalServer, name: str = SERVER) -> None:
    """Replaces the file at once: a reader sees the old one or the new one, and nobody else sees either."""
    draft = path(f"{name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"url": server.url, "token": server.token}, file)
    draft.replace(path(name))
