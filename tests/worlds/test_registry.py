"""The worlds by name."""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment.schema import ExperimentFile
from bakeoff.worlds import emu, registry, sim

if TYPE_CHECKING:
    from pathlib import Path


def test_the_simulator_is_a_world() -> None:
    assert registry.world("sim") is sim.WORLD
    assert "sim" in registry.available()


def test_a_world_that_does_not_exist_yet_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MODULES", {"sim": "x", "linux": "y", "live": None})
    with pytest.raises(UserError, match=r'^the world "live" is not part of this version; there are "sim", "linux"$'):
        registry.world("live")


def test_the_reference_says_which_worlds_do_not_exist_yet() -> None:
    said = ExperimentFile.model_fields["world"].description or ""
    assert [name for name in registry.MODULES if f'"{name}" is not part of this version' in said] == [
        name for name in registry.MODULES if name not in registry.available()
    ]


def test_an_unknown_world_gets_a_hint() -> None:
    with pytest.raises(UserError, match=r'^"linus" is not a world; did you mean "linux"\?$'):
        registry.check("linus")


def test_checking_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.MODULES, "linux", "bakeoff.worlds.no_such_module")
    registry.check("linux")
    with pytest.raises(ModuleNotFoundError):
        registry.world("linux")


def test_a_world_offers_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim, "WORLD", sim)
    with pytest.raises(TypeError, match=r"^bakeoff\.worlds\.sim\.WORLD is not a World$"):
        registry.world("sim")


def test_what_runs_a_run_beside_bakeoff(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert registry.world("sim").provenance() == {}
    monkeypatch.setattr(emu, "_EMULATOR", tmp_path / "emulator")
    (tmp_path / "emulator").write_bytes(b"1")
    emu.provenance.cache_clear()
    try:
        digest = hashlib.sha256(b"1").hexdigest()
        assert registry.world("emu").provenance() == {"host_kernel": platform.release(), "emulator_sha256": digest}
    finally:
        emu.provenance.cache_clear()
