"""The ops app."""

from django.apps import AppConfig
from django.core.checks import register


class OpsConfig(AppConfig):
    """Health, metrics, the worker loop, commands."""

    name = "controlui.ops"
    label = "ops"

    def ready(self) -> None:
        """Registers the system checks."""
        from . import checks

        for check in checks.ALL:
            register(check)
