"""The wire form of what agents send about runs and messages (design section 5). Pure Python: no Django."""

from __future__ import annotations

from dataclasses import dataclass

from controlui.rest.shape import UNSTORABLE, Check, is_blank

RUN_ID = "[A-Za-z0-9._:~-]{1,128}"
MESSAGE_ID = "[A-Za-z0-9_-]{1,64}"
SESSION_KEY_MAX = 200
DEADLINE_MIN, DEADLINE_MAX = 1, 30 * 24 * 3600
TEXT_MAX = 100_000
RUN_KINDS = ("main", "subagent")
RUN_ENDS = ("succeeded", "failed", "aborted")
MESSAGE_KINDS = ("reply", "commentary")
RUN_KEYS = ("sessionKey", "kind", "id", "triggerMessageId", "deadlineSeconds", "recoveryOf")
MESSAGE_KEYS = ("text", "kind", "runId")


@dataclass(frozen=True, slots=True)
class RunStart:
    """What opens a run."""

    session_key: str
    kind: str = "main"
    client_id: str | None = None
    trigger_message_id: str | None = None
    deadline_seconds: int | None = None
    recovery_of: str | None = None


@dataclass(frozen=True, slots=True)
class Saying:
    """What an agent says: the text exactly as given."""

    text: str
    kind: str = "reply"
    run_id: str | None = None


def parse_run(data: object) -> RunStart:
    """The run that a body opens. Raises Faults with every rule it breaks."""
    check = Check()
    body = check.mapping(data, "", RUN_KEYS) or {}
    deadline = check.integer(body, "", "deadlineSeconds")
    if deadline is not None and not DEADLINE_MIN <= deadline <= DEADLINE_MAX:
        message = f"A deadline is {DEADLINE_MIN} to {DEADLINE_MAX} seconds."
        check.fault("deadlineSeconds", "range", message, limit=DEADLINE_MAX)
    run = RunStart(
        session_key=check.line(body, "", "sessionKey", limit=SESSION_KEY_MAX, required=True) or "",
        kind=check.one_of(body, "", "kind", RUN_KINDS) or "main",
        client_id=check.matching(body, "", "id", RUN_ID),
        trigger_message_id=check.matching(body, "", "triggerMessageId", MESSAGE_ID),
        deadline_seconds=deadline,
        recovery_of=check.matching(body, "", "recoveryOf", RUN_ID),
    )
    check.done()
    return run


def parse_finish(data: object) -> str:
    """The status that ends a run. Raises Faults."""
    check = Check()
    body = check.mapping(data, "", ("status",)) or {}
    status = check.one_of(body, "", "status", RUN_ENDS, required=True)
    check.done()
    return status or ""


def parse_saying(data: object) -> Saying:
    """What a body says. Its text is kept exactly, spaces around it too. Raises Faults."""
    check = Check()
    body = check.mapping(data, "", MESSAGE_KEYS) or {}
    text = body.get("text")
    if check.given(body, "", "text", required=True):
        check_message_text(check, text)
    saying = Saying(
        text=text if isinstance(text, str) else "",
        kind=check.one_of(body, "", "kind", MESSAGE_KINDS) or "reply",
        run_id=check.matching(body, "", "runId", RUN_ID),
    )
    check.done()
    return saying


def check_message_text(check: Check, text: object) -> None:
    """Notes what is wrong with the text of a message."""
    if not isinstance(text, str):
        check.fault("text", "type", "This must be a text.", expected="string")
    elif UNSTORABLE.search(text):
        check.fault("text", "character", "This text has a NUL or a lone surrogate.")
    elif is_blank(text):
        check.fault("text", "blank", "This text is empty.")
    elif len(text) > TEXT_MAX:
        message = f"A message has at most {TEXT_MAX} characters."
        check.fault("text", "length", message, limit=TEXT_MAX, length=len(text))
