"""Puts this checkout first on the path, so that the tests find `tests.oracle` and this `crib_env`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
