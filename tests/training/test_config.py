"""Settings: defaults need no file, files and command line agree, and the shipped file is the default."""

from pathlib import Path

import pytest

from training.config import Config, dump_config, flat, parse_config

CONFIGS = Path(__file__).parents[2] / "configs"


def test_what_is_dumped_is_read_back(tmp_path):
    """A run's config.yaml gives the run's settings again."""
    config, _ = parse_config(["--ppo.clip", "0.15", "--evaluation.opponents=[greedy]", "--rules.target", "61"], "x")
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    assert parse_config(["--config", str(path)], "x")[0] == config
    assert config.rules.target == 61


def test_the_command_line_overrides_the_file(tmp_path):
    """Later options win over --config."""
    path = tmp_path / "c.yaml"
    path.write_text("ppo:\n  clip: 0.3\n  epochs: 5\n")
    config, _ = parse_config(["--config", str(path), "--ppo.clip", "0.1"], "x")
    assert (config.ppo.clip, config.ppo.epochs) == (0.1, 5)


def test_laptop_yaml_is_the_default():
    """`python -m training.ppo` and `--config configs/laptop.yaml` are the same run."""
    assert parse_config(["--config", str(CONFIGS / "laptop.yaml")], "x")[0] == Config()


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_config_is_one_a_run_could_have(path):
    """Each parses, and its header says what it is for."""
    parse_config(["--config", str(path)], "x")
    header = [line for line in path.read_text().splitlines() if line.startswith("#")]
    for word in ("Purpose", "Hardware", "Time", "Result"):
        assert any(line.startswith(f"# {word}:") for line in header), f"{path.name} does not say its {word}"


def test_every_setting_is_documented():
    """--help has a line for each."""
    assert len(flat(Config())) > 30
    for section in vars(Config()).values():
        for name in vars(section) if hasattr(section, "__dict__") else ():
            assert f" {name}:" in (type(section).__doc__ or ""), f"{type(section).__name__}.{name} has no help"
