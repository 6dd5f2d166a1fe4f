"""`sign_in_link USER`: a link that signs a person in, once (design section 5)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from controlui.ops import installation, local
from controlui.ops.checks import public_url_fault
from controlui.ops.command import OpsCommand, find_user


class Command(OpsCommand):
    """Makes a link; its secret is shown this once."""

    help = "Prints a one-time sign-in link, alone on the last line. It works once, within 24 hours."

    def add_arguments(self, parser: CommandParser) -> None:
        """For whom, and the address that people reach this server by."""
        parser.add_argument("user")
        parser.add_argument("--base-url", help="default: PUBLIC_URL, else the address of the server that `up` runs")

    def handle(self, *, user: str, base_url: str | None, **_options: Any) -> None:
        """The address first: a link that leads nowhere is not made."""
        base = base_url.rstrip("/") if base_url is not None else default_base()
        if fault := public_url_fault(base):
            raise CommandError(f"--base-url: {base!r} {fault}. Write it like https://ask.example.org")
        link = installation.sign_in_link(find_user(user, "user"), base)
        self.stdout.write(f"{user} signs in here, once, within 24 hours:")
        self.stdout.write(link)


def default_base() -> str:
    """PUBLIC_URL, else where `up` serves or served last, else its default address."""
    served = local.read()
    return settings.PUBLIC_URL or (served.url if served else "http://127.0.0.1:8000")
