"""Addresses for load balancers, supervisors and Prometheus."""

from django.urls import path

from . import health, metrics

urlpatterns = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics.metrics, name="metrics"),
]
