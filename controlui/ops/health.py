"""Whether this process lives, whether the product is usable, and whether a worker loop is alive."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from controlui.chat import clock

from .models import Heartbeat

# Three missed beats (worker.py beats every 5 s).
SILENT_AFTER = dt.timedelta(seconds=15)
LAYER_SECONDS = 2.0


class Migrated:
    """Whether every migration is applied. Once seen it stays so for the life of the process."""

    seen = False

    @classmethod
    def check(cls) -> bool:
        """Reads the migration graph until it has once found nothing left to do."""
        if not cls.seen:
            executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
            cls.seen = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        return cls.seen


def database_trouble() -> str | None:
    """Why the database cannot be used; None when it can."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return None if Migrated.check() else "The database lacks migrations: run `python manage.py migrate`."
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is the answer
        return f"The database cannot be reached ({type(error).__name__})."


def layer_trouble() -> str | None:
    """Why the channel layer cannot be used; None when it can."""
    try:
        async_to_sync(send_probe)()
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is the answer
        return f"The channel layer cannot be reached ({type(error).__name__})."
    return None


async def send_probe() -> None:
    """Sends to a group that nobody is in."""
    async with asyncio.timeout(LAYER_SECONDS):
        await get_channel_layer().group_send("ops.probe", {"type": "probe"})


def worker_trouble(beats: list[Heartbeat], at: dt.datetime) -> str | None:
    """Why the work that nobody waits for is not done; None when it is."""
    if any(beat.seen_at >= at - SILENT_AFTER for beat in beats):
        return None
    return "No worker loop is alive: `up` runs one; beside other servers start `python manage.py worker`."


@never_cache
@require_safe
def livez(_request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 once the product is usable; 503 with the reasons until then."""
    return verdict([database_trouble(), layer_trouble()])


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """As readyz, and a worker loop must have shown a sign of life lately."""
    reasons = [database_trouble(), layer_trouble()]
    workers: list[dict[str, Any]] = []
    if not any(reasons):
        at, beats = clock.now(), list(Heartbeat.objects.order_by("-seen_at")[:50])
        workers = [
            {"place": beat.place, "secondsAgo": round((at - beat.seen_at).total_seconds(), 1), "error": beat.error}
            for beat in beats
        ]
        reasons.append(worker_trouble(beats, at))
    return verdict(reasons, workers=workers)


def verdict(found: list[str | None], **more: Any) -> JsonResponse:
    """200 without reasons, else 503 that may be asked again in a moment."""
    reasons = [reason for reason in found if reason]
    body = {"status": "unusable" if reasons else "ok", "reasons": reasons, **more}
    response = JsonResponse(body, status=503 if reasons else 200)
    if reasons:
        response["Retry-After"] = "2"
    return response
