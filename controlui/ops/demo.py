"""A scripted agent: what a friendly release assistant would say and ask. It knows nothing but the public API."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from .client import Client, Record, Refused, as_json

SESSION = "demo"
POLL_SECONDS = 2.0
RUN_SECONDS = 2 * 3600

HELLO = """Good morning! Release **2.4** is built and ready to go out. In short:

- 14 changes since 2.3, 2 of them by people who are new here
- one migration, which runs in `0.8 s` on a copy of the data
- all 412 tests are green

There is one thing that only you can decide."""

WHERE: Record = {
    "id": "deploy_target",
    "header": "Deploy",
    "question": "Where should release 2.4 go first?",
    "options": [
        {"label": "Staging (Recommended)", "description": "Ten minutes to look around, then production."},
        {"label": "Canary", "description": "Production, for 5 % of the traffic."},
        {"label": "Production", "description": "Everywhere, at once."},
    ],
}
DETAILS: list[Record] = [
    {
        "id": "checks",
        "header": "Checks",
        "question": "Which checks should follow the deploy?",
        "options": [
            {"label": "Smoke tests (Recommended)", "description": "Two minutes."},
            {"label": "Load test", "description": "Half an hour, and it is felt."},
            {"label": "Accessibility audit", "description": "Five minutes."},
        ],
        "multiSelect": True,
    },
    {
        "id": "audience",
        "header": "Audience",
        "question": "Who should read the release notes?",
        "options": [{"label": "The team (Recommended)"}, {"label": "Everybody"}, {"label": "Nobody yet"}],
    },
    {
        "id": "start",
        "header": "Start",
        "question": "When should it begin?",
        "options": [{"label": "Now (Recommended)"}, {"label": "Tonight at 22:00"}, {"label": "After my review"}],
    },
]


class Demo:
    """One scripted agent. `tell` writes a line to the terminal; `pace` is the pause between two sayings."""

    def __init__(self, client: Client, *, tell: Callable[[str], None], pace: float) -> None:
        self.client = client
        self.tell = tell
        self.pace = pace
        self.run_id = ""

    def call(self, *call: Any, **options: Any) -> Record:
        """A call that waits out a restart of the server."""
        return self.client.persist(*call, until=time.monotonic() + 600, **options)

    def live(self, *, once: bool) -> None:
        """Tells its story, then again whenever the person writes. Raises Refused, NoServer, KeyboardInterrupt."""
        self.tidy_up()
        self.story(None)
        seen = self.newest_message()
        while not once:
            time.sleep(POLL_SECONDS)
            message = self.newest_message()
            if message is not None and message != seen:
                self.tell(f"A message: {as_json(message['text'])}")
                self.story(message)
                seen = self.newest_message()

    def story(self, trigger: Record | None) -> None:
        """One run from its beginning to its end. A run that the person ended is simply over."""
        self.run_id = f"demo-{secrets.token_hex(8)}"
        start: Record = {"sessionKey": SESSION, "id": self.run_id, "deadlineSeconds": RUN_SECONDS}
        if trigger is not None:
            start["triggerMessageId"] = trigger["id"]
        self.call("POST", "/runs", start)
        try:
            self.tell_story(again=trigger is not None)
            self.finish("succeeded")
        except Refused as refused:
            if refused.status != 409:
                raise
            self.tell(f"The run ended early: {refused.body['message']}")

    def tell_story(self, *, again: bool) -> None:
        """What is said and asked."""
        if again:
            self.say("Thank you for your message. I am only a demo, so here is the release once more.")
        self.say("Reading the changes since 2.3 …", kind="commentary")
        self.say("Trying the migration on a copy of the data …", kind="commentary")
        self.say(HELLO)
        target = self.ask([WHERE])
        where = target["deploy_target"][0] if target else "Staging (Recommended)"
        self.say(f"{'You decided' if target else BEST_JUDGMENT}: **{where}**. Three small things about how.")
        self.say("Preparing the deploy …", kind="commentary")
        details = self.ask(DETAILS)
        if details is None:
            self.say(f"{BEST_JUDGMENT}: the recommended ones. Release 2.4 is on its way.")
            return
        chosen = "\n".join(f"- {question['question']} **{', '.join(details[question['id']])}**" for question in DETAILS)
        self.say(f"Understood:\n\n{chosen}\n\nRelease 2.4 is on its way. Write me something, and I start again.")

    def say(self, text: str, *, kind: str = "reply") -> None:
        """One message, saved once however often the line breaks."""
        body = {"text": text, "kind": kind, "runId": self.run_id}
        self.call("POST", f"/sessions/{SESSION}/messages", body, key=secrets.token_urlsafe(16))
        time.sleep(self.pace)

    def ask(self, questions: list[Record]) -> dict[str, list[str]] | None:
        """Asks and waits for the person; None when there is no answer and the agent is to decide by itself."""
        ask = {
            "id": f"demo_{secrets.token_urlsafe(16)}",
            "questions": questions,
            "runId": self.run_id,
            "timeoutSeconds": 900,
            "maxTimeoutSeconds": 3600,
        }
        record = self.call("POST", "/ask", ask)
        self.tell(f"Asked: {questions[0]['question']}" + (f" (and {len(questions) - 1} more)" if questions[1:] else ""))
        result = self.client.wait(record)["result"]
        self.tell(f"Got: {as_json(result)}")
        answers: dict[str, list[str]] | None = result["answers"]["answers"] if result["status"] == "answered" else None
        return answers

    def finish(self, status: str) -> None:
        """Ends the run; what it still asks is cancelled."""
        self.call("POST", f"/runs/{self.run_id}/finish", {"status": status})

    def leave(self) -> None:
        """Ends what is open before the process goes: nobody would hear the answer."""
        if self.run_id:
            self.client.call("POST", f"/runs/{self.run_id}/finish", {"status": "aborted"}, seconds=5)

    def newest_message(self) -> Record | None:
        """The last thing that a person wrote."""
        try:
            page = self.call("GET", f"/sessions/{SESSION}/messages?limit=20")
        except Refused as refused:
            if refused.status == 404:
                return None
            raise
        return next((message for message in page["messages"] if message["kind"] == "person"), None)

    def tidy_up(self) -> None:
        """Withdraws what a demo that was killed still asks."""
        for record in self.call("GET", "/questions?status=pending")["questions"]:
            if record.get("sessionKey") == SESSION:
                self.call("POST", f"/questions/{record['id']}/cancel")


BEST_JUDGMENT = "Nobody answered, so I go by my best judgment"
