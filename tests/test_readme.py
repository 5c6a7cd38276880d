"""The README's promises: its Python runs as printed, its commands are the ones that exist, its links lead somewhere."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_python_block_runs(number, tmp_path, monkeypatch):
    """In order, each seeing what those before it made, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in BLOCKS[: number + 1]:
        exec(compile(block, f"README block {number}", "exec"), names)


def test_the_two_commands_stand_there():
    """Set-up is these two lines, whole."""
    assert "python -m pip install -c constraints.txt -e . && python -m training.ppo" in TEXT
    assert 'python -m pip install -c constraints.txt -e ".[test]" && pytest' in TEXT


def test_every_file_named_is_there():
    """Paths in backquotes that look like files of ours."""
    for name in re.findall(r"`((?:crib_env|agents|training|configs|tests|\.ci)/[\w./]*)`", TEXT):
        assert (README.parent / name).exists(), name
