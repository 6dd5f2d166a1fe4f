"""Asks the person from a shell: `python manage.py ask "Deploy where?" Staging Production` (design section 5)."""

from __future__ import annotations

import secrets
import signal
import sys
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlui.ops.client import GRACE_SECONDS, Client, NoServer, Record, Refused, as_json
from questions.schema import OPTIONS_MAX, OPTIONS_MIN

ANSWERED, REFUSED, NO_ANSWER = 0, 2, 3
HOW_MANY = f"{OPTIONS_MIN} to {OPTIONS_MAX} options"
EXAMPLE = 'python manage.py ask "Deploy where?" "Staging (Recommended)" "Production"'


class Command(BaseCommand):
    """Opens one question, waits for its end, prints the result as JSON and nothing else on stdout."""

    help = (
        "Asks the running server a question as agent `shell`, and waits. Exit 0 answered, 3 no answer, 2 refused. "
        f"For example: {EXAMPLE}"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The question, its options, and what an ask may carry."""
        parser.add_argument("question")
        parser.add_argument(
            "options", nargs="*", metavar="option", help=f"{HOW_MANY}, each in quotes; the recommended one first"
        )
        parser.add_argument("--header", default="Question", help="a short label, cut to 12 characters")
        parser.add_argument("--multi", action="store_true", help="several options may be chosen")
        parser.add_argument("--timeout", type=int, help="seconds to wait for the person (30 to 3600; 900)")
        parser.add_argument("--session", help="the sessionKey of the conversation; without one only admins see it")

    def handle(self, *, question: str, options: list[str], **given: Any) -> None:
        """Asks and waits; Ctrl-C or SIGTERM withdraws the question."""
        signal.signal(signal.SIGTERM, interrupt)
        if not OPTIONS_MIN <= len(options) <= OPTIONS_MAX:
            given_words = f"{len(options)} {'option was' if len(options) == 1 else 'options were'} given"
            raise CommandError(
                f"A question needs {HOW_MANY} after it, each in quotes; {given_words}.\nFor example: {EXAMPLE}",
                returncode=REFUSED,
            )
        client = Client()
        ask = ask_body(question, options, **given)
        try:
            record = self.open(client, ask)
            try:
                record = client.wait(record)
            except KeyboardInterrupt:
                record = self.withdraw(client, record)
        except Refused as refused:
            raise CommandError(str(refused), returncode=REFUSED) from refused
        except NoServer as gone:
            raise CommandError(str(gone), returncode=REFUSED) from gone
        self.stdout.write(as_json(record["result"]))
        if record["status"] != "answered":
            sys.exit(NO_ANSWER)

    def open(self, client: Client, ask: Record) -> Record:
        """Opens the prompt. It has an id of ours, so a lost reply is asked for again without asking twice."""
        try:
            record = client.call("POST", "/ask", ask)
        except NoServer as gone:
            if not gone.reached:
                raise
            record = client.persist("POST", "/ask", ask, until=time.monotonic() + GRACE_SECONDS)
        self.stderr.write(f"Waiting for an answer at {client.page} (Ctrl-C withdraws the question).")
        return record

    def withdraw(self, client: Client, record: Record) -> Record:
        """Takes the question back; where an answer was faster, that one counts."""
        path = f"/questions/{record['id']}"
        try:
            client.call("POST", f"{path}/cancel")
        except Refused as refused:
            if refused.status != 409:
                raise
        return client.call("GET", path)


def ask_body(question: str, options: list[str], **given: Any) -> Record:
    """The ask on the wire; the server knows the rules and names every fault."""
    asked = {
        "id": "answer",
        "header": given["header"],
        "question": question,
        "options": [{"label": label} for label in options],
        "multiSelect": given["multi"],
    }
    body: Record = {"questions": [asked], "id": f"ask_{secrets.token_urlsafe(16)}"}
    if given["timeout"] is not None:
        body["timeoutSeconds"] = given["timeout"]
    if given["session"] is not None:
        body["sessionKey"] = given["session"]
    return body


def interrupt(_signal: int, _frame: object) -> None:
    """SIGTERM is heeded like Ctrl-C."""
    raise KeyboardInterrupt
