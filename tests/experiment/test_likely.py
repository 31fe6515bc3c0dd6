"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

import pytest

from bakeoff import suites
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.likely import likely


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("allegro", '"pcc" (PCC Allegro)'),
        ("pcc-allegro", '"pcc" (PCC Allegro)'),
        ("Allegro PCC", '"pcc" (PCC Allegro)'),
        ("bbrv3", '"bbr3" (BBRv3)'),
        ("TCP Cubic", '"cubic" (TCP Cubic)'),
        ("TCP Reno", '"reno" (TCP Reno)'),
        ("TCP BBR", '"bbr" (TCP BBR v1)'),
        ("BBR v1", '"bbr" (TCP BBR v1) or "quic_bbr" (QUIC BBR v1)'),
        ("ledbat++", '"ledbat_plus_plus"'),
        ("CUBIC", '"cubic"'),
        ("FQ-CoDel", '"fq_codel"'),
        ("blue", '"cobalt"'),
        ("copa2", '"copa"'),
        ("newreno", '"quinn:newreno" or "reno"'),
        ("mvfst", '"copa" (Copa), which has a profile of this name'),
        ("paper", '"copa" (Copa) or "vivace" (PCC Vivace), which have a profile of this name'),
        ("s1 paced", '"sce-l4s/s1-paced"'),
    ],
)
def test_a_word_finds_what_is_like_it(word: str, meant: str) -> None:
    core = of_core()
    names = [*suites.names(), *core.schemes, *core.queues]
    assert likely(word, names, [*core.schemes.values(), *core.queues.values()]) == f"did you mean {meant}?"


def test_many_are_cut_short() -> None:
    names = [f"a-{number}" for number in range(8)]
    assert likely("a", names, []) == 'did you mean one of "a-0", "a-1", "a-2", "a-3", "a-4", "a-5" and 2 more?'


@pytest.mark.parametrize("word", ["", "++", "_", "xyzzy"])
def test_a_word_like_nothing_finds_nothing(word: str) -> None:
    assert likely(word, suites.names(), list(of_core().schemes.values())) is None
