"""How the product logs: an event name and key=value pairs, on stderr. No secrets, no answer text (style rule 32)."""

from __future__ import annotations

import logging
import logging.config
import re
import sys
from typing import Any, TextIO

import structlog

HIDDEN = "[kept out]"
# What people and agents say, and what lets somebody in, is never a log value, whoever logs it.
SECRET_KEYS = frozenset(
    {
        "answer", "answers", "authorization", "body", "cookie", "draft", "link", "password", "raw", "resolution_id",
        "secret", "text", "ticket", "token", "values",
    }
)  # fmt: skip
SECRET_PATTERNS = (
    # A sign-in link is a password: its address stands in request lines, referrers and "Not Found: …".
    (re.compile(r"(/sign-in/)[^/\s?#\"']+"), r"\1" + HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), r"\1 " + HIDDEN),
    (re.compile(r"\b[a-z]{2,16}_[A-Za-z0-9_-]{43}\b"), HIDDEN),
    (re.compile(r"([?&](?:t|ticket|token|code)=)[^&\s\"']+"), r"\1" + HIDDEN),
    # PostgreSQL repeats the refused row, and with it what somebody typed.
    (re.compile(r"(?m)^(\s*DETAIL:).*$"), r"\1 " + HIDDEN),
    (re.compile(r"\b([a-z][a-z0-9+]*://[^/\s:@]*):[^/\s@]+@"), r"\1:" + HIDDEN + "@"),
)


def redact(text: str) -> str:
    """The text without sign-in links, tokens, passwords in addresses and rows that a database repeats."""
    for pattern, kept in SECRET_PATTERNS:
        text = pattern.sub(kept, text)
    return text


def keep_secrets_out(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """The last processor before rendering: by key, and inside every string, tracebacks too."""
    for key, value in event.items():
        if key in SECRET_KEYS:
            event[key] = HIDDEN
        elif isinstance(value, str):
            event[key] = redact(value)
        elif value is not None and not isinstance(value, bool | int | float):
            event[key] = redact(str(value))
    return event


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the present `sys.stderr`, which tests and daemons replace after logging was set up."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """Looked up at each line."""
        return sys.stderr


def shared_processors() -> list[structlog.typing.Processor]:
    """What our own events and those of libraries both go through."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def renderers(form: str) -> list[structlog.typing.Processor]:
    """The end of the line: `json` for machines, anything else for people."""
    last: structlog.typing.Processor
    if form == "json":
        last = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        last = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
        )
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        keep_secrets_out,
        last,
    ]


def configure(config: dict[str, Any]) -> None:
    """Django's LOGGING_CONFIG: `config` is settings.LOGGING, `{"level", "format"}`."""
    form = config.get("format", "console")
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": shared_processors(),
        "processors": renderers(form),
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"ours": formatter},
            "handlers": {"stderr": {"()": StderrHandler, "formatter": "ours"}},
            "root": {"handlers": ["stderr"], "level": config.get("level", "INFO")},
            # Their everyday news is in our own access log, or nowhere.
            "loggers": {name: {"level": "WARNING"} for name in ("daphne", "httpx", "httpcore", "asyncio", "twisted")},
        }
    )
    structlog.configure(
        processors=[*shared_processors(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
