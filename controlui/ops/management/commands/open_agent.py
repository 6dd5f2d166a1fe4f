"""`open_agent NAME`: lets everybody start conversations with an agent, guests too."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from controlui.chat.transitions import set_open
from controlui.ops.command import OpsCommand, find_agent


class Command(OpsCommand):
    """Opens an agent to everybody, or closes it again; conversations that are there go on."""

    help = "Lets everybody start conversations with an agent, guests too; --close: only its owner and admins."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which agent, and the way back."""
        parser.add_argument("name")
        parser.add_argument("--close", action="store_true", help="only its owner and admins from now on")

    def handle(self, *, name: str, close: bool, **_options: Any) -> None:
        """Says what holds now."""
        agent = set_open(agent=find_agent(name), is_open=not close)
        who = "everybody" if agent.is_open else "its owner and admins"
        self.stdout.write(f"Conversations with {agent.name} may be started by {who}.")
