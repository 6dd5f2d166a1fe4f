"""`up` as a real process: how it starts, what it refuses, how it serves, and how it ends (bugs case 117)."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

from .conftest import Place, until

pytestmark = pytest.mark.processes


def test_up_prints_the_link_alone_on_the_last_line_once_it_listens(place: Place) -> None:
    server = place.up()
    link = server.lines[-1]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/sign-in/[\w-]{40,}/", link)
    assert httpx.get(link).status_code == 200
    assert place.get("/readyz").status_code == 200
    kept = place.data / "server.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert set(place.server) == {"url", "token"}
    assert link.startswith(place.server["url"])
    until(lambda: place.get("/healthz").status_code == 200, "the embedded worker beats")
    assert server.stop() == 0
    assert server.errors.count("warning") == 0


def test_a_taken_port_is_named_with_a_way_out_and_leaves_nothing_half_done(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = place.run("up", "--port", str(port), code=1)
    assert f"{port} on 127.0.0.1 is taken" in refused.errors
    assert "--port" in refused.errors
    assert "make run PORT=" in refused.errors
    assert refused.lines == []
    assert not (place.data / "controlui.sqlite3").exists()
    assert not (place.data / "server.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--port", "70000"], 2, "no port"),
        (["--port", "x"], 2, "no port"),
        (["--port", "0", "--host", "192.0.2.1"], 1, "no address of this machine"),
        (["--port", "0", "--host", "no such host"], 1, "no address of this machine"),
    ],
)
def test_bad_addresses_are_refused_in_one_sentence(place: Place, words: list[str], code: int, told: str) -> None:
    refused = place.run("up", *words, code=code)
    assert told in refused.errors
    assert "Traceback" not in refused.errors


def test_a_second_process_on_the_in_memory_layer_is_refused(served: Place) -> None:
    for words in (["up", "--port", "0"], ["worker"]):
        refused = served.run(*words, code=1)
        assert "REDIS_URL" in refused.errors
        assert refused.lines == []


def test_two_copies_with_their_own_data_run_side_by_side(served: Place, place: Place) -> None:
    place.up()
    assert place.get("/readyz").status_code == served.get("/readyz").status_code == 200
    assert place.server["url"] != served.server["url"]


def test_a_restart_keeps_the_owner_and_the_local_token(place: Place) -> None:
    first = place.up()
    token, link = place.server["token"], first.lines[-1]
    assert first.stop() == 0
    second = place.up()
    assert place.server["token"] == token
    assert second.lines[-1] != link
    assert place.run("create_user", "owner", code=1).lines == []
    (place.data / "server.json").write_text('{"url": "x", "token": "agt_stale"}')
    assert second.stop() == 0
    place.up()
    assert place.api("GET", "/questions", place.server["token"])[0] == 200


def test_static_files_are_served_hashed_immutable_and_compressed(served: Place) -> None:
    paths = json.loads((served.data / "static" / "staticfiles.json").read_text())["paths"]
    assert f"/static/{paths['app.css']}" in served.get("/sign-in/").text
    for name in ("app.css", "app.js", "vendor/htmx.js"):
        address = f"/static/{paths[name]}"
        packed = httpx.head(served.server["url"] + address, headers={"Accept-Encoding": "gzip"})
        assert packed.status_code == 200
        assert "immutable" in packed.headers["Cache-Control"]
        assert packed.headers["Content-Encoding"] == "gzip"
        assert int(packed.headers["Content-Length"]) < len(served.get(address).content) / 2


def test_no_warning_and_no_secret_reaches_the_log(place: Place) -> None:
    place.env |= {"ACCESS_LOG": "1", "LOG_FORMAT": "json", "LOG_LEVEL": "DEBUG"}
    server = place.up()
    link = server.lines[-1]
    secret = link.rstrip("/").rpartition("/")[2]
    place.get(urlsplit(link).path)
    place.get("/static/app.css")
    place.get(f"/sign-in/{secret}x/?next=/c/1/")
    place.api("GET", "/questions", place.server["token"])
    assert server.stop() == 0
    assert '"path": "/sign-in/[kept out]/"' in server.errors
    for hidden in (secret, place.server["token"]):
        assert hidden not in server.errors
    for line in server.errors.splitlines():
        assert json.loads(line)["level"] in {"debug", "info", "warning"}
        assert "Warning" not in line
        assert "synchronous iterator" not in line


def test_a_body_without_end_is_refused_and_not_kept(served: Place) -> None:
    def endless() -> Iterator[bytes]:
        for _chunk in range(64):
            yield b"y" * 65536

    for body in (b"x" * (3 * 1024 * 1024), endless()):
        refused = httpx.post(served.server["url"] + "/api/v1/ask", content=body)
        assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
    assert served.get("/livez").status_code == 200


def test_a_socket_frame_that_is_too_long_closes_the_socket(served: Place) -> None:
    url = served.server["url"]
    with connect(url.replace("http", "ws") + "/ws/?t=none", origin=Origin(url)) as line:
        with contextlib.suppress(ConnectionClosed):
            for _try in range(50):
                line.send("z" * 65536)
        assert line.close_code in {1009, 4401}
    assert served.get("/livez").status_code == 200


def ask(text: str) -> dict[str, Any]:
    question = {"id": "q", "header": "Q", "question": text, "options": [{"label": "A"}, {"label": "B"}]}
    return {"questions": [question], "sessionKey": text}


def signed_in_socket(place: Place, link: str) -> Any:
    """A page's socket: signs in by the link, reads the ticket from the page, connects."""
    url, token = place.server["url"], place.server["token"]
    place.api("POST", "/sessions/page/messages", token, {"text": "Hello."})
    with httpx.Client(base_url=url, follow_redirects=True, headers={"Origin": url}) as browser:
        csrf = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(link).text)
        assert csrf
        assert browser.post(link, data={"csrfmiddlewaretoken": csrf.group(1)}).status_code == 200
        page = browser.get(place.api("GET", "/sessions/page", token)[1]["url"]).text
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    socket_path = re.search(r'data-socket="([^"]+)"', page)
    assert socket_path, page
    return connect(
        url.replace("http", "ws") + socket_path.group(1).replace("&amp;", "&"),
        origin=Origin(url),
        additional_headers={"Cookie": cookies},
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_waits_with_the_record_and_sockets_with_1001(place: Place, number: int) -> None:
    server = place.up()
    token = place.server["token"]
    opened = [place.api("POST", "/ask", token, ask(f"s{index}"))[1]["id"] for index in range(5)]
    with ThreadPoolExecutor(5) as pool, signed_in_socket(place, server.lines[-1]) as page, httpx.Client() as idle:
        waits = [pool.submit(place.api, "GET", f"/questions/{uid}/wait?seconds=100", token) for uid in opened]
        metric = r"controlui_open_requests (\d+)"
        until(lambda: int(re.findall(metric, place.get("/metrics").text)[0]) >= 6, "five waits are held")
        assert idle.get(place.server["url"] + "/livez").status_code == 200

        began = time.monotonic()
        assert server.stop(number) == 0
        assert time.monotonic() - began < 10
        for wait in waits:
            status, record = wait.result(10)
            assert (status, record["status"]) == (200, "pending")
        with contextlib.suppress(ConnectionClosed):
            while page.recv(timeout=10):
                pass
        assert page.close_code == 1001
    assert "Traceback" not in server.errors
    assert "cut_off=0" in server.errors


def test_answers_under_way_are_finished_and_none_is_lost_or_doubled(place: Place) -> None:
    server = place.up()
    agent, person = place.server["token"], place.run("create_token", "owner").lines[-1]
    opened = [place.api("POST", "/ask", agent, ask(f"s{index}"))[1]["id"] for index in range(30)]
    told: dict[str, int] = {}
    started = threading.Barrier(7)

    def answer(uids: list[str]) -> None:
        started.wait(30)
        for uid in uids:
            try:
                told[uid] = place.api("POST", f"/questions/{uid}/answer", person, {"answers": {"q": ["A"]}})[0]
            except httpx.TransportError:
                return  # the server has gone: nothing was promised for this one

    with ThreadPoolExecutor(6) as pool:
        for index in range(6):
            pool.submit(answer, opened[index::6])
        started.wait(30)
        until(lambda: len(told) >= 3, "some answers are in")
        assert server.stop() == 0

    place.up()
    for uid, status in told.items():
        assert status == 200
        assert place.api("GET", f"/questions/{uid}", agent)[1]["status"] == "answered"
    states = {uid: place.api("GET", f"/questions/{uid}", agent)[1]["status"] for uid in opened}
    assert {uid for uid, status in states.items() if status == "answered"} == set(told)


def test_a_killed_server_starts_again_at_once(place: Place) -> None:
    place.up().stop(signal.SIGKILL)
    assert place.up().lines[-1].startswith("http")


def test_idle_memory_stays_within_its_limit(place: Place) -> None:
    server = place.up()
    assert place.get("/sign-in/").status_code == 200
    with open(f"/proc/{server.popen.pid}/status") as file:  # noqa: PTH123 -- a file of the kernel
        resident = int(re.findall(r"VmRSS:\s+(\d+) kB", file.read())[0])
    assert resident < 140 * 1024, "design asks for 120 MB; a test venv has more installed"
