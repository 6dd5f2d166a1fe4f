"""Numbers for Prometheus. What the product holds is counted in the database, so every process tells the same."""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable

from django.db.models import Count, F, Max
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlui.chat import clock
from controlui.chat.models import Run, Stream
from outbox.models import Delivery
from questions.models import Prompt

from .models import Heartbeat

REQUESTS = Counter("controlui_requests", "Requests answered by this process.", ["method", "status"])
SECONDS = Histogram(
    "controlui_request_seconds",
    "Time to answer, waiting calls left out.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
SOCKETS = Gauge("controlui_open_sockets", "WebSockets open in this process.")
WAITING = Gauge("controlui_open_requests", "Requests under way in this process, waiting agents among them.")
LOOPBACK = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1"})
# Whoever comes through a proxy on this host has its address, and says so in one of these.
PROXY_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


class Holdings(Collector):
    """What waits in the database, asked at each scrape by indexed queries."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One family per question that an operator asks."""
        at = clock.now()
        pending = Prompt.objects.filter(status=Prompt.Status.PENDING)
        yield family("prompts_pending", "Prompts that wait for a person.", pending.count())
        overdue = pending.filter(closes_at__lt=at).count()
        yield family("prompts_overdue", "Prompts past their end that no worker has ended yet.", overdue)
        yield family("runs_running", "Runs under way.", Run.objects.filter(status=Run.Status.RUNNING).count())
        behind = Stream.objects.filter(version__gt=F("announced")).count()
        yield family("streams_unannounced", "Streams that pages may not have heard of.", behind)
        yield deliveries()
        seen = Heartbeat.objects.aggregate(last=Max("seen_at"))["last"]
        age = (at - seen).total_seconds() if seen else float("nan")
        yield family("worker_heartbeat_age_seconds", "Since the last sign of life of any worker loop.", age)


def family(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    """One number."""
    return GaugeMetricFamily(f"controlui_{name}", help_text, value=value)


def deliveries() -> GaugeMetricFamily:
    """What is not in saved history yet, by status."""
    found = GaugeMetricFamily("controlui_deliveries", "Deliveries not confirmed, by status.", labels=["status"])
    open_ones = Delivery.objects.exclude(status__in=[Delivery.Status.CONFIRMED, Delivery.Status.DISCARDED])
    for status, number in open_ones.values_list("status").annotate(Count("pk")).order_by("status"):
        found.add_metric([status], number)
    return found


def may_read(request: HttpRequest) -> bool:
    """With METRICS_TOKEN: whoever sends it. Without: this host itself, but nobody through a proxy on it."""
    token = os.environ.get("METRICS_TOKEN", "")
    if token:
        return hmac.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {token}".encode())
    if any(header in request.META for header in PROXY_HEADERS):
        return False
    return request.META.get("REMOTE_ADDR") in LOOPBACK


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text. To everybody else there is no such page."""
    if not may_read(request):
        raise Http404
    return HttpResponse(generate_latest(REGISTRY) + generate_latest(Holdings()), content_type=CONTENT_TYPE_LATEST)
