"""/livez, /readyz, /healthz and /metrics."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from controlui.chat import clock
from controlui.chat.models import User
from controlui.ops import health
from controlui.ops.models import Heartbeat
from questions.models import Prompt


def beat(*, ago: float = 0, name: str = "here:1") -> Heartbeat:
    at = clock.now() - dt.timedelta(seconds=ago)
    return Heartbeat.objects.create(
        name=name, host="here", pid=1, place="embedded", shares_layer=False, started_at=at, seen_at=at
    )


def test_livez_asks_nobody(client: Client) -> None:
    assert client.get("/livez").status_code == 200


@pytest.mark.django_db
def test_readyz_is_200_once_migrated_and_reachable(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "reasons": []})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_readyz_says_that_migrations_are_missing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health.Migrated, "seen", False)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'ops'")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer["Retry-After"] == "2"
    assert "migrate" in answer.json()["reasons"][0]


def test_readyz_says_that_the_database_is_out_of_reach(client: Client) -> None:
    # pytest-django lets no test without the mark reach the database: as good as a database that is gone.
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"][0].startswith("The database cannot be reached")


@pytest.mark.django_db
def test_readyz_says_that_the_channel_layer_is_out_of_reach(client: Client, settings: Settings) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"][0].startswith("The channel layer cannot be reached")


@pytest.mark.django_db
def test_healthz_wants_a_worker_that_was_seen_lately(client: Client) -> None:
    assert client.get("/healthz").status_code == 503
    beat(ago=60)
    assert "No worker loop" in client.get("/healthz").json()["reasons"][0]
    beat(name="here:2")
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["workers"][0]["place"] == "embedded"


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/livez", "/readyz", "/healthz"])
def test_health_pages_are_for_reading(client: Client, address: str) -> None:
    assert client.post(address).status_code == 405
    assert client.head(address).status_code in {200, 503}


def number(text: str, name: str) -> float:
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))


@pytest.mark.django_db
def test_metrics_tell_what_waits(client: Client, ana: User, request: pytest.FixtureRequest) -> None:
    ask = request.getfixturevalue("ask")
    ask(sessionKey="main")
    prompt = ask(sessionKey="other")
    Prompt.objects.filter(pk=prompt.pk).update(closes_at=clock.now() - dt.timedelta(seconds=9))
    beat(ago=3)
    text = client.get("/metrics").content.decode()
    assert number(text, "controlui_prompts_pending") == 2
    assert number(text, "controlui_prompts_overdue") == 1
    assert 3 <= number(text, "controlui_worker_heartbeat_age_seconds") < 60
    assert "process_resident_memory_bytes" in text


@pytest.mark.django_db
def test_metrics_are_for_this_host_or_a_token(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="192.0.2.7").status_code == 404
    assert client.get("/metrics", headers={"x-forwarded-for": "192.0.2.7"}).status_code == 404

    monkeypatch.setenv("METRICS_TOKEN", "scrape-me")
    assert client.get("/metrics").status_code == 404
    assert client.get("/metrics", headers={"authorization": "Bearer wrong"}).status_code == 404
    allowed = client.get("/metrics", headers={"authorization": "Bearer scrape-me"}, REMOTE_ADDR="192.0.2.7")
    assert allowed.status_code == 200
