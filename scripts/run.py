"""`make run`: the server, and beside it a demo agent that asks something. Ends when the server does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Starts both; the server's exit code. The server's words (the sign-in link) go to the terminal."""
    server = subprocess.Popen([sys.executable, "manage.py", "up", *sys.argv[1:]], cwd=ROOT)
    # Ctrl-C reaches the whole group: wait for the server to stop with care instead of dying first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_signal: server.terminate())
    demo = subprocess.Popen([sys.executable, "manage.py", "demo_agent"], cwd=ROOT)
    code = server.wait()
    demo.terminate()
    demo.wait()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
