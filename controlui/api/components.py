"""The bodies and records of the API as JSON Schema, with the limits that the checks themselves use."""

from __future__ import annotations

from typing import Any

from controlui.chat import schema as chat
from controlui.rest.docs import ref
from outbox import schema as outbox
from outbox.models import Delivery
from questions import schema as questions
from questions.api import PROMPT_ID, STATUSES
from questions.models import Prompt

Schema = dict[str, Any]

REASONS = (
    "expired", "skipped", "withdrawn", "run_aborted", "run_ended", "run_deadline", "superseded", "undeliverable",
    "cancelled",
)  # fmt: skip


def text(description: str, **more: Any) -> Schema:
    """A string."""
    return {"type": "string", "description": description, **more}


def moment(description: str, *, nullable: bool = False) -> Schema:
    """A time: RFC 3339, UTC, milliseconds."""
    return text(description, format="date-time", **({"nullable": True} if nullable else {}))


def number(description: str, **more: Any) -> Schema:
    """A whole number."""
    return {"type": "integer", "description": description, **more}


def record(description: str, properties: Schema, *, optional: tuple[str, ...] = ()) -> Schema:
    """What we send: fields may be added later, so readers skip those they do not know."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "description": description, "required": required, "properties": properties}


def body(description: str, properties: Schema, *, required: tuple[str, ...] = ()) -> Schema:
    """What we take: unknown fields are refused."""
    shape: Schema = {"type": "object", "description": description, "additionalProperties": False}
    return {**shape, **({"required": list(required)} if required else {}), "properties": properties}


SESSION_KEY = text(
    "The agent's own name for a conversation: trimmed, no control characters.",
    minLength=1,
    maxLength=chat.SESSION_KEY_MAX,
)
RUN_ID = text("A run's id.", pattern=f"^{chat.RUN_ID}$")
LABEL = text(
    'Unique in its question, whatever the case, spaces and invisible characters. Never the word "Other": people '
    "can always type an answer of their own.",
    minLength=1,
    maxLength=questions.LABEL_MAX,
)
ANSWERS: Schema = {
    "type": "object",
    "description": "Question id to values: chosen labels as authored, a person's own text last.",
    "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": "string"}},
}

ASKING: dict[str, Schema] = {
    "Ask": body(
        "One ask: 1 to 3 questions that a person answers together.",
        {
            "questions": {
                "type": "array",
                "minItems": questions.QUESTIONS_MIN,
                "maxItems": questions.QUESTIONS_MAX,
                "items": ref("AskQuestion"),
            },
            "timeoutSeconds": number(
                f"How long to wait for the person at most; clamped to {questions.TIMEOUT_MIN} to "
                f"{questions.TIMEOUT_MAX}. The clamped value is returned.",
                default=questions.TIMEOUT_DEFAULT,
            ),
            "maxTimeoutSeconds": number(
                f"How far the person may extend the wait; clamped to {questions.TIMEOUT_MIN} to "
                f"{questions.LONGEST_TIMEOUT}, and not less than the timeout."
            ),
            "runId": RUN_ID | {"description": "The run that waits. It must be a running main run."},
            "sessionKey": SESSION_KEY,
            "mode": {
                "type": "string",
                "enum": list(questions.MODES),
                "default": "blocking",
                "description": "`async`: the call returns at once, the agent works on, and the answer comes as an "
                "ordinary message through the inbox or the webhook. It never expires and takes no timeout.",
            },
            "id": text("An id of your own for the prompt; a repeat with the same body is the same prompt.",
                       pattern=f"^{questions.CLIENT_ID}$"),
        },
        required=("questions",),
    ),
    "AskQuestion": body(
        "One question. Free text is always possible beside the options.",
        {
            "id": text("The key of its answer, unique in the ask.", pattern=f"^{questions.QUESTION_ID}$",
                       maxLength=questions.QUESTION_ID_MAX),
            "header": text(f"A short label; cut to {questions.HEADER_CLUSTERS} characters as people count them.",
                           minLength=1),
            "question": text("One sentence.", minLength=1, maxLength=questions.QUESTION_MAX),
            "options": {
                "type": "array",
                "minItems": questions.OPTIONS_MIN,
                "maxItems": questions.OPTIONS_MAX,
                "items": ref("AskOption"),
            },
            "multiSelect": {"type": "boolean", "default": False, "description": "Whether several may be chosen."},
        },
        required=("id", "header", "question", "options"),
    ),
    "AskOption": body(
        "One choice.",
        {"label": LABEL, "description": text("What it means.", maxLength=questions.DESCRIPTION_MAX)},
        required=("label",),
    ),
    "Answer": body(
        "A person's answer to the whole prompt.",
        {
            "answers": ANSWERS,
            "resolutionId": text(
                "A receipt of your own choice: a repeat with it is told that its own answer stands.",
                minLength=1,
                maxLength=questions.RECEIPT_MAX,
            ),
        },
        required=("answers",),
    ),
}  # fmt: skip

PROMPTS: dict[str, Schema] = {
    "Prompt": record(
        "A prompt as it stands.",
        {
            "id": text("Its id: the agent's own if it chose one.", pattern=f"^{PROMPT_ID}$"),
            "uid": text("Its id among all agents'; for persons, where the agent chose the id."),
            "mode": {"type": "string", "enum": list(Prompt.Mode.values)},
            "status": {
                "type": "string",
                "enum": list(STATUSES),
                "description": "Agents see `no_answer` for skipped, expired and cancelled alike.",
            },
            "expiresAt": moment("When the wait for the person ends.", nullable=True),
            "timeoutSeconds": number("The clamped timeout.", nullable=True),
            "maxTimeoutSeconds": number("How far the wait may be extended."),
            "sessionKey": text("The session, unless the ask named none."),
            "runId": text("The run that asked."),
            "questions": {"type": "array", "items": ref("PromptQuestion")},
            "createdAt": moment("When it was asked."),
            "delivery": record(
                "Of an async prompt: the message that carries its answer.",
                {"id": text("Its id."), "status": {"type": "string", "enum": list(Delivery.Status.values)}},
            ),
            "result": ref("Result"),
        },
        optional=("uid", "maxTimeoutSeconds", "sessionKey", "runId", "delivery", "result"),
    ),
    "PromptQuestion": record(
        "A question of a prompt.",
        {
            "id": text("The key of its answer."),
            "header": text("The label, cut."),
            "question": text("The question."),
            "options": {"type": "array", "items": ref("PromptOption")},
            "multiSelect": {"type": "boolean"},
        },
    ),
    "PromptOption": record(
        "A choice of a question.",
        {"label": text("Its label."), "description": text("What it means.")},
        optional=("description",),
    ),
    "Result": {
        "description": "How the prompt ended; missing while it is open.",
        "oneOf": [ref("Answered"), ref("NoAnswer")],
    },
    "Answered": record(
        "A person's answer.",
        {
            "status": {"type": "string", "enum": ["answered"]},
            "answers": record("The envelope.", {"answers": ANSWERS}),
            "text": text(
                "The saved message of an async answer whose parts are not certain: it was edited, or its headings "
                "could be meant twice. `answers` is empty then; nothing is guessed."
            ),
        },
        optional=("text",),
    ),
    "NoAnswer": record(
        "Nobody answered. Silence is never a choice.",
        {
            "status": {"type": "string", "enum": ["no_answer"]},
            "reason": {"type": "string", "enum": list(REASONS)},
            "message": text("What to do now, in words for the agent."),
        },
    ),
    "PromptList": record(
        "A page of prompts.",
        {"questions": {"type": "array", "items": ref("Prompt")}, "next": text("The next page.", nullable=True)},
    ),
}

SESSIONS: dict[str, Schema] = {
    "RunStart": body(
        "What opens a run.",
        {
            "sessionKey": SESSION_KEY,
            "kind": {"type": "string", "enum": list(chat.RUN_KINDS), "default": "main"},
            "id": RUN_ID | {"description": "An id of your own; a repeat is the same run."},
            "triggerMessageId": text("The person's message that this run answers.", pattern=f"^{chat.MESSAGE_ID}$"),
            "deadlineSeconds": number(
                "The run is aborted at it.", minimum=chat.DEADLINE_MIN, maximum=chat.DEADLINE_MAX, default=86_400
            ),
            "recoveryOf": RUN_ID | {"description": "The run that this one takes over from."},
        },
        required=("sessionKey",),
    ),
    "RunFinish": body(
        "How a run ends.", {"status": {"type": "string", "enum": list(chat.RUN_ENDS)}}, required=("status",)
    ),
    "Run": record(
        "One agent turn.",
        {
            "id": text("Its id."),
            "kind": {"type": "string", "enum": list(chat.RUN_KINDS)},
            "status": {"type": "string", "enum": ["running", *chat.RUN_ENDS]},
            "sessionKey": text("Its session."),
            "actsFor": text("The person whose prompts its are.", nullable=True),
            "startedAt": moment("When it began."),
            "endedAt": moment("When it ended.", nullable=True),
            "deadlineAt": moment("When it is aborted."),
        },
    ),
    "Session": record(
        "A conversation.",
        {
            "sessionKey": text("The agent's name for it."),
            "url": text("The address of its page."),
            "title": text("Its title."),
            "agent": text("The agent's name."),
            "state": {"type": "string", "enum": ["open", "read_only", "archived"]},
            "generation": number("Grows by one with each reset."),
            "members": {
                "type": "array",
                "items": record(
                    "A person in it.",
                    {
                        "name": text("Their name."),
                        "role": {"type": "string", "enum": ["owner", "participant", "viewer"]},
                    },
                ),
            },
            "mayWrite": {"type": "boolean", "description": "Whether messages of the caller are taken."},
            "createdAt": moment("When it began."),
            "activeAt": moment("When something was last said in it."),
        },
    ),
    "MessageText": body(
        "What an agent says.",
        {
            "text": text("Markdown, kept exactly.", minLength=1, maxLength=chat.TEXT_MAX),
            "kind": {"type": "string", "enum": list(chat.MESSAGE_KINDS), "default": "reply"},
            "runId": RUN_ID,
        },
        required=("text",),
    ),
    "Message": record(
        "A row of saved history.",
        {
            "id": text("Its id."),
            "kind": {"type": "string", "enum": ["person", "reply", "commentary", "prompt"]},
            "text": text("What it says."),
            "author": text("The person who wrote it.", nullable=True),
            "runId": text("The run that said it.", nullable=True),
            "replyTo": text("The message it answers.", nullable=True),
            "createdAt": moment("When it was saved."),
        },
    ),
    "MessageList": record(
        "A page of messages.",
        {"messages": {"type": "array", "items": ref("Message")}, "next": text("The next page.", nullable=True)},
    ),
    "Skip": body("An optional receipt.", {"resolutionId": ASKING["Answer"]["properties"]["resolutionId"]}),
    "Empty": body("Nothing: an empty body, or `{}`.", {}),
}

LEASE = text("The lease that came with the delivery.", pattern=f"^{outbox.LEASE}$")
INBOX: dict[str, Schema] = {
    "Inbox": record(
        "What people sent this agent, leased to the caller: at most one delivery of each conversation.",
        {"deliveries": {"type": "array", "items": ref("Delivery")}, "next": text("Always null.", nullable=True)},
    ),
    "Delivery": record(
        "A message on its way. The same `id` may come twice, after a Retry: drop what you have seen.",
        {
            "id": text("Its id."),
            "lease": text("Names this attempt in the acknowledgement."),
            "leaseExpiresAt": moment("Acknowledge before this, or renew; later it is *unconfirmed*."),
            "sessionKey": text("Its session."),
            "messageId": text(
                "The id that the message has in history once it is accepted; fit for `triggerMessageId`."
            ),
            "kind": {"type": "string", "enum": ["message", "answer"]},
            "text": text("What the person wrote, or their answer under its quoted questions."),
            "author": text("The person."),
            "createdAt": moment("When they sent it."),
            "promptId": text("The async prompt that it answers."),
            "answers": ANSWERS,
            "replyTo": text("The message that it answers."),
        },
        optional=("promptId", "answers", "replyTo"),
    ),
    "Ack": body(
        "What becomes of a delivery.",
        {
            "lease": LEASE,
            "accepted": {"type": "boolean"},
            "error": text("Why it was refused, as a sentence for the person.", maxLength=outbox.ERROR_MAX),
        },
        required=("lease", "accepted"),
    ),
    "LeaseRenewal": body("The lease to keep.", {"lease": LEASE}, required=("lease",)),
    "Lease": record(
        "A lease.",
        {"id": text("The delivery."), "lease": text("The lease."), "leaseExpiresAt": moment("When it ends.")},
    ),
    "DeliveryState": record(
        "How a delivery stands.",
        {
            "id": text("The delivery."),
            "status": {"type": "string", "enum": list(Delivery.Status.values)},
            "messageId": text("Its message in history, once accepted.", nullable=True),
        },
    ),
}

ERRORS: dict[str, Schema] = {
    "Error": record(
        "Every error has this shape. A 409 `already_resolved` has the winner's outcome as `question`.",
        {
            "code": text("Stable, for programs."),
            "message": text("What happened and what to do next."),
            "details": {"type": "array", "items": ref("Fault")},
        },
    ),
    "Fault": record(
        "One fault of an input. More fields may help to mend it: `limit`, `length`, `allowed`, `first`.",
        {
            "path": text("Where, such as `questions[1].options[0].label`."),
            "rule": text("The rule it breaks, for programs."),
            "message": text("The rule in words."),
        },
    ),
}

COMPONENTS: dict[str, Schema] = {**ASKING, **PROMPTS, **SESSIONS, **INBOX, **ERRORS}
