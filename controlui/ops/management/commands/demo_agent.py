"""`demo_agent`: a scripted agent in a process of its own (design section 5)."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from controlui.ops import installation, local
from controlui.ops.client import Client, NoServer, Refused, await_server, find_server
from controlui.ops.command import OpsCommand
from controlui.ops.demo import Demo

from .ask import interrupt

START_SECONDS = 60.0


class Command(OpsCommand):
    """Gives the agent `demo` its token, then speaks nothing but the public API."""

    help = "Runs a scripted agent that asks you things. CONTROLUI_URL and CONTROLUI_TOKEN point it elsewhere."

    def add_arguments(self, parser: CommandParser) -> None:
        """How long it talks."""
        parser.add_argument("--once", action="store_true", help="tell the story once, then end")
        parser.add_argument("--pace", type=float, default=1.0, help="seconds between two sayings (1)")

    def handle(self, *, once: bool, pace: float, **_options: Any) -> None:
        """Until its story is told, or Ctrl-C."""
        signal.signal(signal.SIGTERM, interrupt)
        try:
            # `make run` starts both at once: the database may not even have its tables yet.
            await_server(START_SECONDS)
            self.run_demo(Demo(Client(self.finder()), tell=self.tell, pace=max(0.0, pace)), once=once)
        except KeyboardInterrupt:
            return
        except (Refused, NoServer) as error:
            raise CommandError(str(error), returncode=2) from error

    def run_demo(self, demo: Demo, *, once: bool) -> None:
        """Its whole life; what it still asks is withdrawn before it goes."""
        try:
            demo.live(once=once)
        except KeyboardInterrupt:
            with contextlib.suppress(Refused, NoServer):
                demo.leave()

    def tell(self, line: str) -> None:
        """One line on the terminal, at once."""
        self.stdout.write(f"[demo agent] {line}")
        self.stdout.flush()

    def finder(self) -> Any:
        """Where the server is, with this agent's own token; the address is looked up at each call."""
        if os.environ.get("CONTROLUI_URL") or os.environ.get("CONTROLUI_TOKEN"):
            return find_server
        token = installation.kept_token(installation.DEMO_AGENT, installation.first_admin(), local.DEMO)
        local.write(local.LocalServer(url="", token=token), local.DEMO)
        return lambda: local.LocalServer(url=find_server().url, token=token)
