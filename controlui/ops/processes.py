"""Which processes may run together. The in-memory channel layer belongs to one process only (design rule 10)."""

from __future__ import annotations

import datetime as dt
import errno
import fcntl
import os
import socket
from pathlib import Path
from typing import TextIO

from django.conf import settings
from django.db import connection

from controlui.chat import clock
from controlui.errors import Conflict

from .models import Heartbeat

# A loop writes its heartbeat every 5 s; one that missed three is taken for dead.
FRESH = dt.timedelta(seconds=15)


class SeveralProcesses(Conflict):
    """Another process works on this data, and the two could not hear each other."""

    code = "several_processes"


def here() -> str:
    """This host's name."""
    return socket.gethostname()[:100]


def is_alive(pid: int) -> bool:
    """Whether a process of this host with that number runs."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True


def claim_memory_layer() -> TextIO | None:
    """Makes this the one process on the in-memory layer, until the returned file is closed or the process dies.

    None with Redis: then any number may run, all with Redis. Raises SeveralProcesses when another one is there
    that would not be heard: the kernel's lock tells of those that share CONTROLUI_DATA, a fresh heartbeat of
    those that share only the database.
    """
    if settings.REDIS_URL:
        refuse_others(shares_layer=False)
        return None
    lock = hold(Path(settings.DATA_DIR) / "process.lock")
    try:
        refuse_others()
    except BaseException:
        lock.close()
        raise
    return lock


def hold(path: Path) -> TextIO:
    """Locks the file for this process and writes its number there. Raises SeveralProcesses."""
    lock = path.open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        pid = lock.read().strip() or "unknown"
        lock.close()
        raise SeveralProcesses(advice(f"process {pid}")) from error
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def refuse_others(**which: bool) -> None:
    """Raises SeveralProcesses when such a loop is not known to be dead."""
    if Heartbeat._meta.db_table not in connection.introspection.table_names():
        return  # nothing was ever started on this database
    for other in Heartbeat.objects.filter(seen_at__gte=clock.now() - FRESH, **which):
        if other.host == here() and (other.pid == os.getpid() or not is_alive(other.pid)):
            continue
        raise SeveralProcesses(advice(f"process {other.pid} on {other.host}"))


def advice(who: str) -> str:
    """What is wrong, and the two ways out."""
    return (
        f"{who} already works on this data, and it or this one has no REDIS_URL. The in-memory channel layer serves "
        "one process only: set REDIS_URL for all of them, or stop the other one first (its loop is a worker, too)."
    )
