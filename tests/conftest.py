"""Shared by all tests: one torch thread, since many small steps on two busy cores mostly wait for each other."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread():
    """Set before the first test; a test that trains sets its own number."""
    import torch

    torch.set_num_threads(1)
