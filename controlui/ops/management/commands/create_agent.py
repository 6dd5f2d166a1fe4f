"""`create_agent NAME`: a program that may ask, and its token (design section 5)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from controlui.chat.transitions import create_agent, create_token
from controlui.ops.command import OpsCommand, find_user


class Command(OpsCommand):
    """Makes an agent; its token is shown this once."""

    help = "Makes an agent and prints its token, alone on the last line, once."

    def add_arguments(self, parser: CommandParser) -> None:
        """The name, whose agent it is, and where it is told of deliveries."""
        parser.add_argument("name")
        parser.add_argument("--owner", help="the person who takes part in all its conversations")
        parser.add_argument(
            "--webhook", default="", help="an http(s) address that gets what people send, instead of an inbox"
        )
        parser.add_argument("--open", action="store_true", help="let everybody start conversations with it, guests too")

    def handle(self, *, name: str, owner: str | None, webhook: str, **options: Any) -> None:
        """Both or nothing: an agent without a token could not be made again."""
        user = find_user(owner, "--owner") if owner is not None else None
        with transaction.atomic():
            agent = create_agent(name=name, owner=user, webhook_url=webhook, is_open=options["open"])
            token = create_token(agent=agent)
        if webhook:
            self.stdout.write(f"Created the agent {agent.name}. Its webhook's signing secret, shown only now:")
            self.stdout.write(agent.webhook_secret)
            self.stdout.write("Its token, shown only now:")
        else:
            self.stdout.write(f"Created the agent {agent.name}. Its token, shown only now:")
        self.stdout.write(token)
