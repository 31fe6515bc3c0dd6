"""The locks hold what pyproject.toml asks for, by hash, and name no address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]
ASKED = {
    "run": PROJECT["project"]["dependencies"] + GROUPS["build"],
    "dev": PROJECT["project"]["dependencies"] + GROUPS["build"] + [r for r in GROUPS["dev"] if isinstance(r, str)],
    "uv": [line for line in (ROOT / "requirements/uv.in").read_text().splitlines() if not line.startswith("#")],
}


def locked(name: str) -> dict[str, str]:
    text = (ROOT / f"requirements/{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("name", ASKED)
def test_every_requirement_is_locked_at_a_version_that_satisfies_it(name: str) -> None:
    versions = locked(name)
    for requirement in map(Requirement, ASKED[name]):
        assert requirement.name in versions, "run `make lock`"
        assert requirement.specifier.contains(versions[requirement.name]), "run `make lock`"


@pytest.mark.parametrize("name", ASKED)
def test_locks_have_hashes_and_no_address(name: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text()
    assert "://" not in text
    pinned = [block for block in re.split(r"\n(?=[a-z])", text) if "==" in block]
    assert pinned
    assert all("--hash=sha256:" in block for block in pinned)


def test_what_runs_is_what_was_tested() -> None:
    assert locked("run").items() <= locked("dev").items()
