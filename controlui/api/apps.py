"""The api app."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The REST routes, OpenAPI, and the door where agents wait."""

    name = "controlui.api"
    label = "api"
