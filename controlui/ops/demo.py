"""A scripted agent: what a friendly release assistant would say and ask. It knows nothing but the public API."""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from .client import ANSWER_SECONDS, WAIT_SECONDS, Client, NoServer, Record, Refused, as_json

SESSION = "demo"
RUN_SECONDS = 2 * 3600
AWAY_SECONDS = 60.0
FIRST_LOOK_SECONDS = 0.5
# How many ids of deliveries are remembered, to drop what comes twice.
REMEMBERED = 1000
CRASHED = 70

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


LATER: Record = {
    "id": "headline",
    "header": "Headline",
    "question": "What should the release notes lead with?",
    "options": [
        {"label": "The faster search", "description": "What people asked for."},
        {"label": "The new importer", "description": "What took longest."},
    ],
}
COMMANDS = """You can also make me misbehave, to see what becomes of your messages. Write one of these words:

- `away`: I do not read my inbox for a minute; what you send waits in the queue
- `refuse`: I refuse your next message
- `crash`: I take your next message and vanish before I say whether I accept it"""


class Demo:
    """One scripted agent. `tell` writes a line to the terminal; `pace` is the pause between two sayings.

    It reads its inbox on a thread of its own, so that messages reach it while it waits for an answer.
    """

    def __init__(self, client: Client, *, tell: Callable[[str], None], pace: float) -> None:
        self.client = client
        self.tell = tell
        self.pace = pace
        self.run_id = ""
        self.letters: queue.Queue[Record] = queue.Queue()
        self.seen: dict[str, None] = {}
        self.next_is = ""
        self.leaving = threading.Event()

    def call(self, *call: Any, **options: Any) -> Record:
        """A call that waits out a restart of the server."""
        return self.client.persist(*call, until=time.monotonic() + 600, **options)

    def live(self, *, once: bool) -> None:
        """Tells its story, then again whenever the person writes. Raises Refused, NoServer, KeyboardInterrupt."""
        self.tidy_up()
        reader = threading.Thread(target=self.read_inbox, name="inbox", daemon=True)
        reader.start()
        try:
            self.story(None)
            while not once:
                try:
                    letter = self.letters.get(timeout=1)
                except queue.Empty:
                    continue
                self.story(letter)
        finally:
            self.leaving.set()

    # -- the inbox ------------------------------------------------------------------------------------

    def read_inbox(self) -> None:
        """Takes what people sent, for as long as the agent lives."""
        # The first look comes at once: what waited while the agent was gone is there.
        path = f"/inbox?sessionKey={SESSION}&wait={WAIT_SECONDS}"
        while not self.leaving.is_set():
            try:
                found = self.client.call("GET", path, seconds=WAIT_SECONDS + ANSWER_SECONDS)
                for letter in found["deliveries"]:
                    self.take(letter)
            except (NoServer, Refused):
                self.leaving.wait(FIRST_LOOK_SECONDS)

    def take(self, letter: Record) -> None:
        """One delivery: accepted, unless the person asked to see what happens otherwise."""
        behaviour, self.next_is = self.next_is, ""
        if behaviour == "refuse":
            self.acknowledge(letter, accepted=False, error="The demo agent was told to refuse this.")
            self.tell(f"Refused: {as_json(letter['text'])}")
            return
        if behaviour == "crash":
            self.tell(f"Took {as_json(letter['text'])} and crashed before saying whether it was accepted.")
            self.crash()
            return
        self.acknowledge(letter, accepted=True)
        if letter["id"] in self.seen:  # a Retry of what had arrived after all
            return
        self.seen[letter["id"]] = None
        for old in list(self.seen)[:-REMEMBERED]:
            del self.seen[old]
        self.tell(f"A message: {as_json(letter['text'])}")
        self.hear(letter)

    def acknowledge(self, letter: Record, **ack: Any) -> None:
        """Says whether it was accepted; a lease that was lost meanwhile is no news."""
        body = {"lease": letter["lease"], **ack}
        try:
            self.call("POST", f"/inbox/{letter['id']}/ack", body)
        except Refused as refused:
            self.tell(f"Not acknowledged: {refused.body['message']}")

    def hear(self, letter: Record) -> None:
        """What the agent does with a message that it has accepted."""
        word = letter["text"].strip().casefold()
        if letter["kind"] == "answer":
            answers = letter.get("answers") or {}
            chosen = ", ".join(value for values in answers.values() for value in values)
            self.remark(f"Noted, while I work on: **{chosen or letter['text']}**.")
        elif word == "away":
            self.remark("I am away for a minute. What you send now waits in the queue.")
            self.leaving.wait(AWAY_SECONDS)
            self.remark("I am back, and read what you sent.")
        elif word in {"refuse", "crash"}:
            self.next_is = word
            self.remark(f"Very well: your next message I {'refuse' if word == 'refuse' else 'lose'}.")
        else:
            self.letters.put(letter)

    def remark(self, text: str) -> None:
        """Says something outside of the story, in no run."""
        body = {"text": text, "kind": "reply"}
        self.call("POST", f"/sessions/{SESSION}/messages", body, key=secrets.token_urlsafe(16))

    def crash(self) -> None:
        """Ends the process as a crash would: nothing is told to anybody."""
        os._exit(CRASHED)

    # -- the story ------------------------------------------------------------------------------------

    def story(self, trigger: Record | None) -> None:
        """One run from its beginning to its end. A run that the person ended is simply over."""
        self.run_id = f"demo-{secrets.token_hex(8)}"
        start: Record = {"sessionKey": SESSION, "id": self.run_id, "deadlineSeconds": RUN_SECONDS}
        if trigger is not None:
            start["triggerMessageId"] = trigger["messageId"]
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
        self.remind([LATER])
        self.say("Preparing the deploy …", kind="commentary")
        details = self.ask(DETAILS)
        if details is None:
            self.say(f"{BEST_JUDGMENT}: the recommended ones. Release 2.4 is on its way.")
            return
        chosen = "\n".join(f"- {question['question']} **{', '.join(details[question['id']])}**" for question in DETAILS)
        self.say(f"Understood:\n\n{chosen}\n\nRelease 2.4 is on its way. Write me something, and I start again.")
        if not again:
            self.say(COMMANDS)

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

    def remind(self, questions: list[Record]) -> None:
        """Asks without waiting: the answer comes as a message, whenever it comes."""
        ask = {"id": f"demo_{secrets.token_urlsafe(16)}", "questions": questions, "runId": self.run_id, "mode": "async"}
        self.call("POST", "/ask", ask)
        self.tell(f"Asked, and went on working: {questions[0]['question']}")

    def finish(self, status: str) -> None:
        """Ends the run; what it still asks is cancelled."""
        self.call("POST", f"/runs/{self.run_id}/finish", {"status": status})

    def leave(self) -> None:
        """Ends what is open before the process goes: nobody would hear the answer."""
        if self.run_id:
            self.client.call("POST", f"/runs/{self.run_id}/finish", {"status": "aborted"}, seconds=5)

    def tidy_up(self) -> None:
        """Withdraws what a demo that was killed still asks."""
        for record in self.call("GET", "/questions?status=pending")["questions"]:
            if record.get("sessionKey") == SESSION and record["mode"] == "blocking":
                self.call("POST", f"/questions/{record['id']}/cancel")


BEST_JUDGMENT = "Nobody answered, so I go by my best judgment"
