"""The outbox app."""

from django.apps import AppConfig


class OutboxConfig(AppConfig):
    """Whatever must reach an agent."""

    name = "outbox"
