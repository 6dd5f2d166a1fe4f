"""What our commands share: a fault is one clear sentence and an exit code, never a traceback."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError

from controlui.chat.models import Agent, User
from controlui.errors import ControlUIError

from .client import sentence

NO_TABLES = "The database is not set up yet, or lacks migrations. Run `python manage.py migrate`, or start `up` once."


class OpsCommand(BaseCommand):
    """A command whose `handle` may raise our errors."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Runs it. Raises CommandError, with the exit code 1, for anything that has a plain explanation."""
        try:
            return super().execute(*args, **options)
        except ControlUIError as error:
            raise CommandError(sentence(error.body())) from error
        except (OperationalError, ProgrammingError) as error:
            if "no such table" in str(error) or "does not exist" in str(error):
                raise CommandError(NO_TABLES) from error
            raise CommandError(f"The database cannot be used: {str(error).strip()}") from error
        except InterfaceError as error:
            raise CommandError(f"The database cannot be reached: {str(error).strip()}") from error


def find_user(name: str, field: str) -> User:
    """The active person with this name. Raises CommandError that names the field."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"{field}: There is no person named {name}. Make one: python manage.py create_user {name}")
    if not user.is_active:
        raise CommandError(f"{field}: {name} is deactivated.")
    return user


def find_agent(name: str) -> Agent:
    """The agent with this name. Raises CommandError."""
    agent = Agent.objects.filter(name=name).first()
    if agent is None:
        raise CommandError(f"There is no agent named {name}. Make one: python manage.py create_agent {name}")
    return agent


def port_number(text: str) -> int:
    """An argparse type. Raises ArgumentTypeError outside 0 to 65535."""
    if not text.isdecimal() or int(text) > 65535:
        raise ArgumentTypeError(f"{text!r} is no port: it must be a number from 0 to 65535")
    return int(text)
