"""What `up` puts in order before it serves: socket, database, static files, the first person, the shell's agent."""

from __future__ import annotations

import errno
import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection, transaction

from controlui.chat.access import actor_of_token
from controlui.chat.models import Agent, User
from controlui.chat.scopes import ADMIN, ADMINS, people_with
from controlui.chat.transitions import create_agent, create_sign_in_link, create_token, create_user
from controlui.errors import ControlUIError

from . import local

FIRST_ADMIN = "owner"
SHELL_AGENT, DEMO_AGENT = "shell", "demo"
BACKLOG = 512
# Of all hosts that start at once on one PostgreSQL, one migrates and the others wait for it.
MIGRATION_LOCK = 0x636F6E74726F6C


class CannotListen(ControlUIError):
    """The address is taken, or not this machine's."""

    code = "cannot_listen"


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; callers queue until they are served. Raises CannotListen.

    Taken before anything else is done, so that a taken port leaves nothing half-done.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _kind, _protocol, _name, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except socket.gaierror as error:
        raise CannotListen(f"--host: {host} is no address of this machine.") from error
    except OSError as error:
        raise CannotListen(why_not(error, host, port)) from error


def why_not(error: OSError, host: str, port: int) -> str:
    """What stands in the way, and what to do."""
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else port - 1
        return (
            f"--port: {port} on {host} is taken. Choose another: "
            f"python manage.py up --port {other} (or: make run PORT={other})"
        )
    if error.errno == errno.EACCES:
        return f"--port: {port} needs more rights than this user has. Choose one above 1023."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host: {host} is no address of this machine."
    return f"Cannot listen on {host}, port {port}: {error.strerror}"


def address_of(listening: socket.socket) -> str:
    """The URL by which this machine reaches the socket."""
    host, port = listening.getsockname()[:2]
    if host == "0.0.0.0":  # noqa: S104 -- compared, not bound
        host = "127.0.0.1"
    if host == "::":
        host = "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allow_host(host: str) -> None:
    """Whoever binds an address by hand means requests to it to be answered."""
    name = f"[{host}]" if ":" in host else host
    if host not in {"", "0.0.0.0", "::"} and name not in settings.ALLOWED_HOSTS:  # noqa: S104 -- compared, not bound
        settings.ALLOWED_HOSTS.append(name)


def migrate() -> None:
    """Applies what is missing."""
    with migration_lock():
        call_command("migrate", interactive=False, verbosity=0)


@contextmanager
def migration_lock() -> Iterator[None]:
    """On PostgreSQL one at a time over all hosts; SQLite's file has one writer anyway."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def collect_static() -> None:
    """Bundles, hashes and compresses into CONTROLUI_DATA/static; of processes that share it, one after the other."""
    with (Path(settings.DATA_DIR) / "static.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("collectstatic", interactive=False, verbosity=0)


def first_admin() -> User:
    """The oldest active admin; `owner` is made where there is none."""
    with transaction.atomic():
        # Two hosts that start at once must not make two: the group's row is the turnstile.
        Group.objects.select_for_update().get(name=ADMINS)
        found = User.objects.filter(people_with(ADMIN), is_active=True).order_by("pk").first()
        return found or create_user(username=FIRST_ADMIN, group=ADMINS)


def kept_token(name: str, owner: User, file: str) -> str:
    """The token of an agent of this machine, kept in the file for as long as it is valid; else a new one."""
    kept = local.read(file)
    actor = actor_of_token(kept.token) if kept else None
    if kept and actor and actor.agent and actor.agent.name == name:
        return kept.token
    with transaction.atomic():
        agent = Agent.objects.filter(name=name).first() or create_agent(name=name, owner=owner)
        return create_token(agent=agent)


def sign_in_link(user: User, base_url: str) -> str:
    """A link that signs the person in once, within 24 hours."""
    return f"{base_url}/sign-in/{create_sign_in_link(user=user)}/"
