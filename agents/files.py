"""Files that are whole or not there at all. May import: nothing of ours."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[str], None]) -> None:
    """Call `write(temporary_path)` beside `path`, then rename onto it; on failure nothing changes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp's own are for the owner alone
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Put a text there, UTF-8, as `write_atomically` does."""
    write_atomically(path, lambda file: _write(file, text))


def _write(file: str, text: str) -> None:
    Path(file).write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
