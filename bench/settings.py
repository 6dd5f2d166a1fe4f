"""The product's settings with two more addresses, as a mark for the cost of everything else (bench/cycles.py)."""

from controlui.settings import *  # noqa: F403

ROOT_URLCONF = "bench.urls"
