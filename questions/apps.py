"""The questions app."""

from django.apps import AppConfig


class QuestionsConfig(AppConfig):
    """What agents ask, and what people answer."""

    name = "questions"

    def ready(self) -> None:
        """Lets the end of a run or a generation, and what becomes of a delivery, reach prompts in one transaction."""
        import outbox.hooks
        from controlui.chat import hooks

        from . import transitions

        hooks.run_ended.append(transitions.cancel_prompts_of_run)
        hooks.run_ended.append(transitions.retire_reminders)
        hooks.run_recovered.append(transitions.move_prompts_to_run)
        hooks.conversation_reset.append(transitions.cancel_prompts_of_conversation)
        outbox.hooks.delivery_changed.append(transitions.follow_delivery)
