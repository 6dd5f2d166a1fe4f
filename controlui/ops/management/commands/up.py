"""Everything in one process: `python manage.py up` (design section 5)."""

from __future__ import annotations

from contextlib import closing, nullcontext
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connections

from controlui.ops import installation, local
from controlui.ops.command import OpsCommand, port_number
from controlui.ops.processes import claim_memory_layer


class Command(OpsCommand):
    """Prepares, serves and works, until a signal."""

    help = "Migrates, serves and does the worker's job in one process; prints a one-time sign-in link for the admin."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--host` and `--port`."""
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
        parser.add_argument("--port", default=8000, type=port_number, help="the port; 0 takes a free one (8000)")

    def handle(self, *, host: str, port: int, **_options: Any) -> None:
        """Takes the port first and the process's place second, so that a refusal leaves nothing half-done."""
        with closing(installation.listen(host, port)) as listening, claim_memory_layer() or nullcontext():
            installation.allow_host(host)
            url = installation.address_of(listening)
            installation.migrate()
            installation.collect_static()
            admin = installation.first_admin()
            token = installation.kept_token(installation.SHELL_AGENT, admin, local.SERVER)
            local.write(local.LocalServer(url=url, token=token))
            link = installation.sign_in_link(admin, settings.PUBLIC_URL or url)
            # Requests have connections of their own; this one would only be held for nothing.
            connections.close_all()

            def ready() -> None:
                self.stdout.write(f"Control UI is running at {settings.PUBLIC_URL or url}")
                self.stdout.write(f"Sign in as {admin.username}; the link works once, within 24 hours:")
                self.stdout.write(link)
                self.stdout.flush()

            serve(listening, ready)


def serve(listening: Any, ready: Any) -> None:
    """Loads the server last: it installs Twisted's reactor."""
    from controlui.ops.server import ControlServer  # isort:skip -- before anything else of Twisted

    from channels.routing import get_default_application

    from controlui.api.wait import end_waits
    from controlui.ops.worker import run_embedded

    ControlServer(
        get_default_application(), listening, background=run_embedded, on_ready=ready, end_waits=end_waits
    ).run()
