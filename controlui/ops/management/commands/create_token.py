"""`create_token USER`: a person's token for the API (design section 5)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from controlui.chat.transitions import create_token
from controlui.ops.command import OpsCommand, find_user


class Command(OpsCommand):
    """Makes a token that lists, gets, answers and skips what the person may."""

    help = "Makes a token of a person and prints it, alone on the last line, once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose."""
        parser.add_argument("user")

    def handle(self, *, user: str, **_options: Any) -> None:
        """Shown only now: no more than its digest is kept."""
        token = create_token(user=find_user(user, "user"))
        self.stdout.write(f"A token of {user}, shown only now:")
        self.stdout.write(token)
