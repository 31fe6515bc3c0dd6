"""Colours of schemes that are seen together can be told apart."""

from __future__ import annotations

import itertools

import pytest

from bakeoff import suites
from bakeoff.experiment import expand, load
from bakeoff.reports import looks, titles
from bakeoff.reports.html.run_figures import MAX_FLOWS

FAMILIES = ("bbr-loss/", "dumbbell/", "mixed/", "quic/", "sce-l4s/s")
RELATIVES = [
    ("bbr", "bbr3", "quic_bbr", "quinn:bbr"),
    ("cubic", "cubic_sce", "quic_cubic", "quinn:cubic"),
    ("reno", "reno_sce", "quinn:newreno", "westwood", "illinois"),
    ("dctcp", "dctcp_sce", "prague"),
    ("ledbat", "ledbat_plus_plus"),
    ("sprout", "sprout_ewma"),
    ("koho_cc", "calibrated_koho"),
]


@pytest.mark.parametrize("suite", [name for name in suites.names() if name.startswith(FAMILIES)])
def test_schemes_of_a_suite_have_different_colours(suite: str) -> None:
    runs = expand(load(suite, [])).runs
    found = looks.of_schemes(dict.fromkeys(flow["scheme"] for run in runs for flow in run.scenario["flows"]))
    for key, look in found.items():
        assert looks.nearest(look, [other for name, other in found.items() if name != key]) > 0.06, key


@pytest.mark.parametrize("family", RELATIVES, ids=lambda family: family[0])
def test_relatives_have_very_different_colours(family: tuple[str, ...]) -> None:
    for one, two in itertools.combinations(family, 2):
        assert looks.nearest(looks.SCHEMES[one], [looks.SCHEMES[two]]) > 0.1, (one, two)


def test_every_scheme_of_the_core_has_a_look() -> None:
    assert titles.implemented().keys() <= looks.SCHEMES.keys()


def test_a_scheme_without_a_look_takes_no_colour_that_only_nearly_differs() -> None:
    keys = ["vegas", "copa", "bbr", "own.py:Mine"]
    own = looks.of_scheme(keys[-1], 3)
    assert looks.nearest(own, [looks.SCHEMES["bbr"]]) < 0.06
    found = looks.of_schemes(keys)
    assert looks.nearest(found.pop(keys[-1]), list(found.values())) > 0.1


def test_two_variants_of_a_scheme_have_two_colours() -> None:
    found = looks.of_schemes(["cubic", "calm", "wild"], {"calm": "prague", "wild": "prague"})
    assert found["calm"] == looks.SCHEMES["prague"]
    assert looks.nearest(found["wild"], [found["calm"], found["cubic"]]) > 0.1


def test_as_many_flows_as_are_drawn_have_colours_of_their_own() -> None:
    for one, two in itertools.combinations([looks.of_flow(number) for number in range(1, MAX_FLOWS + 1)], 2):
        assert looks.nearest(one, [two]) > 0.06
