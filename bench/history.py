"""The first page of a conversation of 2,000 messages and 200 summaries: its queries, its time, its size.

Once with the summaries spread evenly, once with nothing but summaries on the newest page, and an empty conversation
beside them. The view runs in this process behind the whole middleware, without a network.

`history.py [--messages N] [--summaries N] [--times N]`
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from statistics import median
from typing import Any

from common import ANSWERS, QUESTION, ROOT, data_directory, environment, note_load, percentile, table

TEXT = (
    "The build of **service-{number}** is through: 214 tests, none failed. Two warnings about `legacy_config` stay, "
    "both known.\n\n- image pushed as `registry/service:{number}`\n- migrations: none\n\nNext I look at the deployment."
)


def build(title: str, order: list[str]) -> tuple[str, Any]:
    """A conversation with rows in this order ("message" or "summary"); its page, and its owner's browser."""
    from django.test import Client

    from controlui.chat import transitions as chat
    from questions import schema
    from questions.transitions import answer_prompt, open_prompt

    person = chat.create_user(username=title)
    agent = chat.create_agent(name=title, owner=person)
    conversation = chat.open_conversation(agent=agent, key=title)
    body = {"questions": [QUESTION], "sessionKey": title}
    for number, kind in enumerate(order):
        if kind == "message":
            chat.say(agent=agent, session_key=title, text=TEXT.format(number=number))
            continue
        prompt, _created = open_prompt(agent=agent, ask=schema.parse_ask(body), body_digest=schema.body_digest(body))
        answer_prompt(prompt=prompt, user=person, answers=ANSWERS, surface="web")
    browser = Client()
    browser.force_login(person)
    return f"/c/{conversation.uid}/", browser


def look(title: str, path: str, browser: Any, times: int) -> list[object]:
    """One row of the table."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    browser.get(path)  # templates are compiled now
    with CaptureQueriesContext(connection) as queries:
        response = browser.get(path)
    asked = len(queries)  # before later requests empty the log
    assert response.status_code == 200, response
    took, used = [], []
    for _time in range(times):
        start, cpu = time.perf_counter(), time.process_time()
        browser.get(path)
        took.append((time.perf_counter() - start) * 1000)
        used.append((time.process_time() - cpu) * 1000)
    rows = response.content.count(b"<li ")
    size = f"{len(response.content) / 1024:.0f}"
    return [
        title,
        rows,
        asked,
        f"{median(took):.1f}",
        f"{percentile(took, 0.95):.1f}",
        f"{median(used):.1f}",
        size,
    ]


def older(path: str, browser: Any) -> str:
    """The address of the rows before the first page."""
    html = browser.get(path).content.decode()
    before = html.partition("before=")[2].partition('"')[0].partition("&")[0]
    return f"{path}older?before={before}"


def main() -> None:
    """Builds the conversations, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--summaries", type=int, default=200)
    parser.add_argument("--times", type=int, default=40)
    options = parser.parse_args()
    note_load()
    with data_directory() as data:
        os.environ.update(environment(data), DJANGO_SETTINGS_MODULE="controlui.settings")
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        from django.conf import settings

        settings.ALLOWED_HOSTS.append("testserver")
        every = options.messages // options.summaries
        spread = (["message"] * every + ["summary"]) * options.summaries
        at_the_end = ["message"] * options.messages + ["summary"] * options.summaries
        few = ["message"] * 5
        rows = []
        for title, order in (("few", few), ("spread", spread), ("summaries last", at_the_end)):
            path, browser = build(title.replace(" ", "-"), order)
            rows.append(look(f"{title}: {len(order)} rows", path, browser, options.times))
            if order is not few:
                rows.append(look(f"{title}: older rows", older(path, browser), browser, options.times))
    head = ["conversation", "rows drawn", "queries", "median ms", "p95 ms", "median CPU ms", "KB of HTML"]
    table("First page of a long conversation (aim: bounded queries, 100 ms)", head, rows)


if __name__ == "__main__":
    main()
