"""`set_webhook NAME`: where an agent is told of what people send, and its signing secret (docs/webhooks.md)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from controlui.chat.transitions import set_webhook
from controlui.ops.command import OpsCommand, find_agent


class Command(OpsCommand):
    """Changes an agent's webhook; a secret is shown only when it is made."""

    help = "Sets or removes an agent's webhook, or makes a new signing secret for it, which is printed once."

    def add_arguments(self, parser: CommandParser) -> None:
        """The agent, and what is to change."""
        parser.add_argument("name")
        change = parser.add_mutually_exclusive_group(required=True)
        change.add_argument("--url", help="an http(s) address that gets what people send, instead of an inbox")
        change.add_argument("--off", action="store_true", help="the agent reads its inbox from now on")
        change.add_argument("--new-secret", action="store_true", help="the old secret signs nothing any more")

    def handle(self, *, name: str, url: str | None, off: bool, new_secret: bool, **_options: Any) -> None:
        """Says what holds now; the secret, when there is a new one, alone on the last line."""
        agent, made = set_webhook(agent=find_agent(name), url="" if off else url, new_secret=new_secret)
        if made:
            self.stdout.write(f"The webhook of {agent.name} is {agent.webhook_url}. Its secret, shown only now:")
            self.stdout.write(agent.webhook_secret)
        elif agent.webhook_url:
            self.stdout.write(f"The webhook of {agent.name} is {agent.webhook_url}; its signing secret stays.")
        else:
            self.stdout.write(f"{agent.name} has no webhook, and reads its inbox.")
