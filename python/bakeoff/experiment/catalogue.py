"""What the core offers: the schemes and queues by which names and parameters of an experiment are checked."""

from __future__ import annotations

import functools
import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError, reason
from bakeoff.experiment.likely import likely, nearest
from bakeoff.experiment.units import shown
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OWN = "own:"
"""Before the name of a scheme: bakeoff's own, in every world."""
KERNEL = "kernel:"
"""Before the name of a scheme: the kernel's, in worlds that have one."""

PROGRAM = "program:"
"""Before the name of a program of the experiment file, which sends and receives by itself."""

STACK = "stack:"
"""Before the name of a stack that is not ours, in what the emulator is told; experiment files have no such word."""


def is_stack(scheme: str) -> bool:
    """Whether a name is that of a stack that is not ours: `STACK:CONTROLLER`."""
    of_others = scheme.startswith((OWN, KERNEL, PROGRAM, reference.PREFIX)) or reference.parse(scheme)
    return ":" in scheme and not of_others


def plain(scheme: str) -> str:
    """The name of a scheme without the word that says whose it is."""
    for prefix in (OWN, KERNEL, PROGRAM, reference.PREFIX):
        scheme = scheme.removeprefix(prefix)
    return scheme


# The largest published one has 3 MB.
_MAX_FILE_BYTES = 2**26
# What a quantity can be, by its unit. A limit without a unit takes several, which its meaning names.
_QUANTITIES = {
    "time": 'a time, as "5ms"',
    "size": 'a size, as "64kB"',
    "packets": 'packets, as "50pkt"',
    "time or packets": 'a time or packets, as "1ms" or "2pkt"',
    "": "a quantity with its unit",
}

KERNEL_CONTROLLERS = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Names of the controllers that the guest's kernel is built with, as the kernel calls them."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a scheme or queue.

    Attributes:
        name: its key.
        kind: `number`, `flag` (true or false), `choice` or `profile` (one of the options), `file` (a path) or `text`.
        default: value if not given.
        unit: unit of a number; empty if it has none.
        doc: what it does.
        least: smallest number allowed.
        most: largest number allowed.
        options: what can be chosen, also of profiles.
        sources: of each profile, where its definition comes from.
        content: what a file holds.
    """

    name: str
    kind: str
    default: Any
    unit: str
    doc: str
    least: float = -math.inf
    most: float = math.inf
    options: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    content: str = ""

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value, and what would be right; None if it is fine."""
        if self.kind == "file" and isinstance(value, str):
            return self._problem_of_file(Path(value))
        if self.kind == "flag":
            right = isinstance(value, bool)
        elif self.options:
            right = value in self.options
        elif self.kind == "number":
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            right = number and self.least <= value <= self.most
        else:
            right = isinstance(value, str)
        return None if right else f"{shown(value)} is not possible; write {self.values}"

    def _problem_of_file(self, file: Path) -> str | None:
        if not os.path.exists(file):  # noqa: PTH110 - never raises
            return f"there is no file {file}; write {self.values}"
        if not os.path.isfile(file):  # noqa: PTH113
            kind = "a folder" if os.path.isdir(file) else "not a regular file"  # noqa: PTH112
            return f"{file} is {kind}; write {self.values}"
        try:
            with file.open("rb"):
                size = file.stat().st_size
        except OSError as error:
            return f"{file} cannot be read ({reason(error)}); write {self.values}"
        if size > _MAX_FILE_BYTES:
            return f"{file} has more than {_MAX_FILE_BYTES // 2**20} MiB; write {self.values}"
        return None

    @property
    def values(self) -> str:
        """What it can be, in words."""
        if self.kind == "flag":
            return "true or false"
        if self.options:
            return " or ".join(f'"{option}"' for option in self.options)
        if self.kind == "number":
            return f"a number from {self.least:g} to {self.most:g}"
        return f"the path of {self.content}" if self.kind == "file" else _QUANTITIES[self.unit]


@dataclass(frozen=True)
class Entry:
    """A scheme or queue.

    Attributes:
        name: its key in experiment files.
        title: its name in reports.
        source: where its definition comes from.
        parameters: what can be set.
        telemetry: internal state that is recorded: name, unit and meaning.
        validation: what its results are held against beside its source; nothing is said of queues.
        deviations: where it differs from its source, in Markdown.
    """

    name: str
    title: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    telemetry: tuple[Mapping[str, str], ...] = ()
    validation: str = ""
    deviations: str = ""

    @property
    def profiles(self) -> dict[str, str]:
        """Its named sets of parameters, the default first, and the source of each; none if it has only one."""
        found = next((known for known in self.parameters if known.kind == "profile"), None)
        if found is None:
            return {}
        pairs = zip(found.options, found.sources, strict=True)
        return dict(sorted(pairs, key=lambda pair: pair[0] != found.default))

    @property
    def worlds(self) -> tuple[str, ...]:
        """Where it runs, as bakeoff's own code or as a stack that is not ours."""
        return ("sim", "emu") if is_stack(self.name) else ("sim", "emu", "linux")


@dataclass(frozen=True)
class Catalogue:
    """Schemes and queues by name, and what an experiment file brings along.

    Attributes:
        schemes: of the core, and the stacks that are not ours.
        queues: of the core.
        programs: names of the file's programs.
        controllers: names of the kernel's controllers, and of those that the file brings.
        variants: names that the file gives to schemes with parameters.
    """

    schemes: Mapping[str, Entry]
    queues: Mapping[str, Entry]
    programs: tuple[str, ...] = ()
    controllers: tuple[str, ...] = KERNEL_CONTROLLERS
    variants: tuple[str, ...] = ()

    def declared(self, programs: Iterable[str], controllers: Iterable[str], variants: Iterable[str] = ()) -> Catalogue:
        """With the programs, controllers and variants of an experiment file."""
        controllers = (*KERNEL_CONTROLLERS, *controllers)
        return replace(self, programs=tuple(programs), controllers=controllers, variants=tuple(variants))

    def check_scheme(self, name: str, folder: Path) -> None:
        """Checks the name of a scheme.

        Args:
            name: of the core, with a prefix, or a class in a file.
            folder: what the path of a file is relative to.

        Raises:
            UserError: it is unknown; the message lacks the place.
        """
        if (named := reference.parse(name)) is not None:
            reference.find(named, folder)
        elif name.startswith(KERNEL):
            controller, known = name.removeprefix(KERNEL), self.controllers
            if controller not in known:
                raise UserError(f"{shown(name)} is not a controller of the kernel; {nearest(controller, known)}")
        elif name.startswith(PROGRAM):
            if (program := name.removeprefix(PROGRAM)) not in self.programs:
                hint = nearest(program, self.programs) if self.programs else f"add a table [program.{program}]"
                raise UserError(f"{shown(name)} is not a program of this file; {hint}")
        elif name.startswith(OWN) and is_stack(stack := name.removeprefix(OWN)) and stack in self.schemes:
            raise UserError(f'{shown(name)} is not bakeoff\'s own; write "{stack}"')
        elif name.endswith(".py"):
            raise UserError(f"{shown(name)} is a file without a class; write both, as in ./my_scheme.py:MyScheme")
        elif ".py:" in name:
            raise UserError(f"{shown(name)} is no file with a class; write them as in ./my_scheme.py:MyScheme")
        elif name.removeprefix(OWN) not in self.schemes:
            raise UserError(f"{shown(name)} is not {self._instead_of(name.removeprefix(OWN))}")

    def _instead_of(self, name: str) -> str:
        """What a name is not, and what would be right: a controller of the stack that it begins with, or a scheme."""
        stack, _, controller = name.partition(":")
        controllers = [known.partition(":")[2] for known in self.schemes if known.startswith(f"{stack}:")]
        if controllers:
            return f"a controller of {stack}; {nearest(controller, controllers)}"
        names = (*self.schemes, *self.variants)
        return f"a scheme; {likely(name, names, self.schemes.values()) or nearest(name, names)}"

    def check_parameter(self, scheme: str, name: str, value: Any) -> None:
        """Checks a parameter of a scheme that exists.

        Raises:
            UserError: the scheme has no such parameter, or not with this value; the message lacks the place.
        """
        if reference.parse(scheme) is not None:
            # Only the class knows more, and its file is not run here.
            if isinstance(value, float) and not math.isfinite(value):
                raise UserError(f"{value} is not possible; write a finite number")
            return
        if scheme.startswith((KERNEL, PROGRAM)):
            raise UserError(f"{scheme} takes no parameters; remove it")
        known = {parameter.name: parameter for parameter in self.schemes[scheme.removeprefix(OWN)].parameters}
        if name not in known:
            raise UserError(f"{scheme} has no such parameter; {nearest(name, known)}")
        if (problem := known[name].problem(value)) is not None:
            raise UserError(problem)

    def files_of(self, scheme: str) -> tuple[Parameter, ...]:
        """The parameters of a scheme that exists which have to name a file."""
        if scheme.startswith((KERNEL, PROGRAM)) or reference.parse(scheme) is not None:
            return ()
        return tuple(known for known in self.schemes[scheme.removeprefix(OWN)].parameters if known.kind == "file")

    @functools.cached_property
    def file_parameters(self) -> frozenset[str]:
        """The names that parameters of schemes have which name a file."""
        return frozenset(known.name for scheme in self.schemes for known in self.files_of(scheme))

    def check_queue(self, kind: Any) -> None:
        """Checks the name of a queue.

        Raises:
            UserError: it is unknown; the message lacks the place.
        """
        if not isinstance(kind, str) or kind not in self.queues:
            raise UserError(f"{shown(kind)} is not a queue; {nearest(kind, self.queues)}")

    def unit_of(self, queue: str, name: str, value: Any = None) -> str:
        """The unit of a parameter of a queue that exists.

        Args:
            queue: the kind of queue.
            name: the parameter.
            value: what it is to be; None and quantities with units, which are numbers by now, are not checked.

        Raises:
            UserError: the queue has no such parameter, or not with this value; the message lacks the place.
        """
        known = {parameter.name: parameter for parameter in self.queues[queue].parameters}
        if name not in known:
            raise UserError(f"{queue} has no such parameter; {nearest(name, known)}")
        parameter = known[name]
        if value is not None and parameter.kind != "text" and (problem := parameter.problem(value)) is not None:
            raise UserError(problem)
        return parameter.unit


def decode(schemes: str, queues: str) -> Catalogue:
    """The catalogue from what the core says of itself in JSON."""
    return Catalogue(_entries(schemes), _entries(queues))


def _entries(text: str) -> dict[str, Entry]:
    entries = {}
    for item in json.loads(text):
        parameters = tuple(
            Parameter(
                name=entry["name"],
                kind=entry["kind"],
                default=entry.get("default", ""),
                unit=entry["unit"],
                doc=entry["doc"],
                least=entry.get("min", -math.inf),
                most=entry.get("max", math.inf),
                options=tuple(entry.get("options", [profile["name"] for profile in entry.get("profiles", ())])),
                sources=tuple(profile["source"] for profile in entry.get("profiles", ())),
                content=entry.get("content", ""),
            )
            for entry in item["parameters"]
        )
        telemetry = tuple(item["telemetry"])
        known = (item["name"], item["title"], item["source"])
        said = (item.get("validation", ""), item.get("deviations", ""))
        entries[item["name"]] = Entry(*known, parameters, telemetry, *said)
    return entries


@functools.cache
def of_core() -> Catalogue:
    """What the built core offers."""
    from bakeoff import _core  # noqa: PLC0415 - checking a file's shape needs no core

    return decode(_core.schemes(), _core.queues())
