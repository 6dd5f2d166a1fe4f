"""The chat app."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    """Conversations, people, agents, messages and runs."""

    name = "controlui.chat"
    label = "chat"

    def ready(self) -> None:
        """Tells the REST layer how a bearer token becomes an actor; it may not import us."""
        from controlui.rest import authentication

        from .access import actor_of_token

        authentication.register_token_lookup(actor_of_token)
