"""The ops app."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Health, metrics, the worker loop, commands."""

    name = "controlui.ops"
    label = "ops"
