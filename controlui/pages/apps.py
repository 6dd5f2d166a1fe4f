"""The pages app."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Every HTML view."""

    name = "controlui.pages"
    label = "pages"
