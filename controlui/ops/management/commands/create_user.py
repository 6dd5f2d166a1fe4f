"""`create_user NAME`: a person who signs in by a link (design section 5)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from controlui.chat.transitions import create_user
from controlui.chat.transitions.people import GROUPS
from controlui.ops.command import OpsCommand


class Command(OpsCommand):
    """Makes a person of a group."""

    help = "Makes a person, who signs in by `sign_in_link NAME`."

    def add_arguments(self, parser: CommandParser) -> None:
        """The name and the group."""
        parser.add_argument("name")
        parser.add_argument("--group", choices=GROUPS, default="operators")

    def handle(self, *, name: str, group: str, **_options: Any) -> None:
        """Says what was made and what comes next."""
        user = create_user(username=name, group=group)
        self.stdout.write(
            f"Created the account {user.username} in the group {group}. "
            f"To sign in: python manage.py sign_in_link {user.username}"
        )
