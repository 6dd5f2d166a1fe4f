"""Which processes may run together, and that separate ones give what one process gives."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from controlui.chat import clock
from controlui.ops import processes
from controlui.ops.models import Heartbeat
from controlui.ops.processes import SeveralProcesses, claim_memory_layer

from .conftest import Place, until


@pytest.fixture
def alone(tmp_path: Path, settings: Settings) -> Path:
    """A CONTROLUI_DATA without Redis and without a process."""
    settings.DATA_DIR, settings.REDIS_URL = tmp_path, ""
    return tmp_path


def beat(*, host: str, pid: int, ago: float = 0, shares_layer: bool = False) -> None:
    at = clock.now() - dt.timedelta(seconds=ago)
    Heartbeat.objects.create(
        name=f"{host}:{pid}", host=host, pid=pid, place="embedded", shares_layer=shares_layer, started_at=at, seen_at=at
    )


def dead_process() -> int:
    """The number of a process that has just ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.django_db
def test_the_place_is_held_until_it_is_given_back(alone: Path) -> None:
    held = claim_memory_layer()
    assert held
    with pytest.raises(SeveralProcesses, match=f"process {os.getpid()} already works"):
        claim_memory_layer()
    held.close()
    again = claim_memory_layer()
    assert again
    again.close()


@pytest.mark.django_db
def test_with_redis_any_number_may_run_but_none_without_it(alone: Path, settings: Settings) -> None:
    settings.REDIS_URL = "redis://localhost/0"
    beat(host="elsewhere", pid=8, shares_layer=True)
    assert claim_memory_layer() is None
    beat(host="elsewhere", pid=7)
    with pytest.raises(SeveralProcesses, match="process 7 on elsewhere"):
        claim_memory_layer()


@pytest.mark.django_db
def test_without_redis_a_process_that_has_it_is_heeded_too(alone: Path) -> None:
    beat(host="elsewhere", pid=8, shares_layer=True)
    with pytest.raises(SeveralProcesses, match="process 8 on elsewhere"):
        claim_memory_layer()


@pytest.mark.django_db
def test_a_fresh_heartbeat_of_another_host_is_heeded(alone: Path) -> None:
    beat(host="elsewhere", pid=7)
    with pytest.raises(SeveralProcesses, match="process 7 on elsewhere"):
        claim_memory_layer()
    Heartbeat.objects.all().delete()
    held = claim_memory_layer()
    assert held, "a refusal gives the lock back"
    held.close()


@pytest.mark.django_db
def test_a_heartbeat_is_not_heeded_when_old_or_of_a_dead_process(alone: Path) -> None:
    beat(host="elsewhere", pid=7, ago=60)
    beat(host=processes.here(), pid=dead_process())
    beat(host=processes.here(), pid=os.getpid())
    held = claim_memory_layer()
    assert held
    held.close()


@pytest.mark.django_db
def test_a_living_process_of_this_host_with_other_data_is_heeded(alone: Path) -> None:
    beat(host=processes.here(), pid=os.getppid())
    with pytest.raises(SeveralProcesses):
        claim_memory_layer()


@pytest.mark.django_db(transaction=True)
def test_a_database_without_tables_has_no_other_process(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Heartbeat._meta, "db_table", "never_made")
    held = claim_memory_layer()
    assert held
    held.close()
    assert connection.is_usable()


@pytest.mark.processes
def test_worker_alone_beats_expires_and_stops_with_its_batch_done(place: Place) -> None:
    place.run("migrate")
    worker = place.start("worker")
    worker.says("runs")
    refused = place.run("up", "--port", "0", code=1)
    assert "REDIS_URL" in refused.errors
    assert worker.stop() == 0
    assert "has ended" in worker.lines[-1]


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.processes
@pytest.mark.skipif("TEST_DATABASE_URL" not in os.environ, reason="make test starts the PostgreSQL and Redis it needs")
def test_servers_and_workers_of_their_own_give_what_one_process_gives(place: Place, tmp_path: Path) -> None:
    """Two servers and two workers on PostgreSQL and Redis: asked on one, answered on the other, expired by a worker."""
    database = new_database()
    place.env |= {"DATABASE_URL": database, "REDIS_URL": os.environ["TEST_REDIS_URL"]}
    other = Place(tmp_path / "other")
    other.data.mkdir()
    other.env |= {
        **{name: place.env[name] for name in ("DATABASE_URL", "REDIS_URL")},
        "SECRET_KEY": "for-tests-only-0123456789-abcdefghij",
    }
    place.env["SECRET_KEY"] = other.env["SECRET_KEY"]
    try:
        place.up()
        other.up()
        workers = [place.start("worker"), other.start("worker")]
        for worker in workers:
            worker.says("runs")
        person = place.run("create_token", "owner").lines[-1]
        asking = place.start("ask", "Across?", "Yes", "No")
        [prompt] = other.pending(person)
        status, body = other.api("POST", f"/questions/{prompt['id']}/answer", person, {"answers": {"answer": ["No"]}})
        assert status == 200, body
        assert asking.code() == 0
        assert '"No"' in asking.lines[0]

        def beating() -> bool:
            found = other.get("/healthz").json()
            return found["status"] == "ok" and len(found["workers"]) == 4

        until(beating, "two embedded and two separate loops are seen")
        assert [worker.stop() for worker in workers] == [0, 0]
    finally:
        other.end()


def new_database() -> str:
    """An empty database beside the one of TEST_DATABASE_URL."""
    import psycopg

    url = os.environ["TEST_DATABASE_URL"]
    name = f"ops_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(url, autocommit=True) as line:
        line.execute(f"CREATE DATABASE {name}")
    return f"{url.rpartition('/')[0]}/{name}"
