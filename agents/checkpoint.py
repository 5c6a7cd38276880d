"""Saving and loading networks. Weights that people share are safetensors: loading runs no code.

A policy file is a safetensors file whose header says what it is: format, version, encoding,
network shape, and where it comes from. A training state is a torch file read with
`weights_only`. Both are written to a temporary file and renamed, so no half file is ever seen.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from agents.files import write_atomically
from agents.networks import NetworkConfig, PolicyValueNet
from crib_env.encoding import ENCODING_VERSION, n_features

FORMAT = "crib-env policy"
FORMAT_VERSION = 1
POLICY_FILES = ("best.safetensors", "latest.safetensors")  # what a run's folder is asked for, in order


def save_policy(path: Path, network: PolicyValueNet, info: dict[str, Any]) -> None:
    """Write a policy file. `info` is JSON: decisions trained, run, win rates, commit, ..."""
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "encoding_version": ENCODING_VERSION,
        "features": n_features(network.config.encoding, network.players),
        "players": network.players,
        "network": network.config.to_dict(),
        "info": info,
    }
    tensors = {name: t.detach().cpu().contiguous() for name, t in network.state_dict().items()}
    write_atomically(path, lambda file: save_file(tensors, file, metadata={"crib_env": json.dumps(header)}))


def load_policy(path: str | os.PathLike) -> tuple[PolicyValueNet, dict[str, Any]]:
    """The network in a policy file, or in a run's folder (its best), and its info.

    Raises:
        ValueError: no such file, not one of ours, or of an encoding this code does not write.
    """
    file = policy_file(Path(path))
    header, tensors = _read(file)
    config = NetworkConfig(**header["network"])
    players = header.get("players", 2)  # files from before there was a choice do not say
    size = n_features(config.encoding, players)
    if header["encoding_version"] != ENCODING_VERSION or header["features"] != size:
        raise ValueError(
            f"checkpoint {file} expects encoding {config.encoding!r} version {header['encoding_version']} "
            f"(F={header['features']}); this code writes version {ENCODING_VERSION} "
            f"(F={size}): play it with the release that trained it, or train anew"
        )
    network = PolicyValueNet(config, players)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(
            f"checkpoint {file} does not fit the network it names: {' '.join(str(error).split())}"
        ) from None
    return network.eval(), header["info"]


def policy_file(path: Path) -> Path:
    """The policy file that a path names: itself, or in a run's folder its best; ValueError if there is none."""
    if path.is_dir():
        for name in POLICY_FILES:
            if (path / name).exists():
                return path / name
        raise ValueError(f"folder {path} holds no policy: looked for {' and '.join(POLICY_FILES)}")
    if not path.exists():
        raise ValueError(f"no checkpoint at {path}: give a .safetensors file or a run's folder")
    return path


def _read(file: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    try:
        with safe_open(file, framework="pt") as opened:
            header = json.loads((opened.metadata() or {}).get("crib_env", "{}"))
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118  (not a dict)
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise ValueError(
            f"{file} is no policy file ({error}): wanted is a .safetensors file this project wrote"
        ) from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{file} is a safetensors file but not a {FORMAT}: it was written by something else")
    if header["format_version"] > FORMAT_VERSION:
        raise ValueError(
            f"{file} has format version {header['format_version']}; this code reads up to {FORMAT_VERSION}"
        )
    return header, tensors


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a training state: tensors and plain values only, so that reading it runs no code."""
    write_atomically(path, lambda file: torch.save(state, file))


def load_state(path: Path) -> dict[str, Any]:
    """Read a training state; ValueError if it is missing, damaged or not one."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"no training state at {path}: is it the folder of a run?") from None
    except Exception as error:  # torch raises many kinds for damaged or hostile files
        raise ValueError(f"{path} is no training state, or is damaged ({type(error).__name__}: {error})") from None
    if not isinstance(state, dict) or state.get("format") != "crib-env training":
        raise ValueError(f"{path} is a torch file but not a training state of this project")
    return state
