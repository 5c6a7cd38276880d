"""Imports point one way (DESIGN.md, section 1): read from the source, so that no import order hides a breach."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Each level may import those before it and its own; `values` sits between the rules and the encodings.
LEVELS = (
    {"cards"},
    {"rules"},
    {"scoring"},
    {"rng", "actions", "state"},
    {"engine"},
    {"view"},
    {"values"},
    {"encoding", "rewards"},
    {"notation", "game", "match", "batch"},
    {"render"},
    {"duel", "env", "vector_env", "aec_env", "bench"},
)
LEVEL_OF = {module: level for level, modules in enumerate(LEVELS) for module in modules}
ENVIRONMENTS = LEVELS[-1]
GYM_PARTS = {"gymnasium", "pettingzoo"}


def sources(package):
    return sorted((ROOT / package).rglob("*.py"))


def imports(path):
    """(module imported, whether inside a function) of a file; `from a import b` counts as a and as a.b."""
    found = []

    def walk(node, inside):
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, ast.Import):
            found.extend((alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the whole name"
            found.append((node.module, inside))
            found.extend((f"{node.module}.{alias.name}", inside) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            walk(child, inside)

    walk(ast.parse(path.read_text(encoding="utf-8")), False)
    return found


def own_imports(path):
    """Names of the crib_env modules that a file imports."""
    names = {name.split(".")[1] for name, _ in imports(path) if name.startswith("crib_env.")}
    return {name for name in names if (ROOT / "crib_env" / f"{name}.py").exists()}


def modules():
    return [path for path in sources("crib_env") if path.stem != "__init__"]


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.stem)
def test_a_module_imports_only_what_stands_before_it(path):
    assert path.stem in LEVEL_OF, f"{path.stem} has no place in the order: give it one in DESIGN.md and here"
    for name in own_imports(path):
        assert LEVEL_OF[name] <= LEVEL_OF[path.stem], f"{path.stem} imports {name}, which stands after it"


def test_no_modules_of_crib_env_import_each_other():
    wanted = {path.stem: own_imports(path) - {path.stem} for path in modules()}
    while wanted:
        free = {name for name, needs in wanted.items() if not needs & set(wanted)}
        assert free, f"these import each other: {sorted(wanted)}"
        wanted = {name: needs for name, needs in wanted.items() if name not in free}


@pytest.mark.parametrize("path", sources("crib_env"), ids=lambda path: path.stem)
def test_crib_env_reaches_up_only_where_an_opponent_is_named(path):
    for name, inside in imports(path):
        package = name.split(".")[0]
        assert package not in ("torch", "training"), f"{path.stem} imports {name}"
        if package == "agents":
            assert inside and path.stem in ENVIRONMENTS, (
                f"{path.stem} imports {name} outside a function of an environment"
            )


@pytest.mark.parametrize("path", sources("crib_env"), ids=lambda path: path.stem)
def test_only_environments_know_gymnasium(path):
    if path.stem not in {*ENVIRONMENTS, "__init__"}:  # the package itself registers them
        assert not {name.split(".")[0] for name, _ in imports(path)} & GYM_PARTS


@pytest.mark.parametrize("path", sources("agents"), ids=lambda path: path.stem)
def test_agents_do_not_import_training(path):
    assert "training" not in {name.split(".")[0] for name, _ in imports(path)}
