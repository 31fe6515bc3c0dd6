"""The experiment file as a whole; its JSON Schema is what editors complete with."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from bakeoff.experiment.base import Model, Time, Word, default, name_like, problem
from bakeoff.experiment.flow import Flows, Variant
from bakeoff.experiment.limits import MAX_REPEATS
from bakeoff.experiment.path import Hops, Path
from bakeoff.experiment.probe import Probes
from bakeoff.experiment.program import Controller, Emulation, Program

_FIRST = "the first a letter"
ExperimentName = Annotated[
    str,
    *name_like(
        r"^[a-z0-9][a-z0-9._-]{0,63}(/[a-z0-9][a-z0-9._-]{0,63})?$",
        'up to 64 small letters, digits, ".", "_" and "-", the first a letter or digit; "FAMILY/NAME" is two such',
    ),
]
ClaimId = Annotated[
    str,
    *name_like(r"^[A-Za-z0-9][A-Za-z0-9._-]*$", 'letters, digits, ".", "_" and "-", the first a letter or digit'),
]
# A "." would end the word of a key of `--set`, and ".py" is a file.
VariantName = Annotated[
    str,
    *name_like(r"^[A-Za-z][A-Za-z0-9_-]{0,31}$", f'up to 32 letters, digits, "_" and "-", {_FIRST}; "." parts keys'),
]
ProgramName = Annotated[
    str, *name_like(r"^[a-z][a-z0-9_-]{0,31}$", f'up to 32 small letters, digits, "_" and "-", {_FIRST}')
]
# As many as the kernel takes (`TCP_CA_NAME_MAX`).
ControllerName = Annotated[
    str, *name_like(r"^[a-z][a-z0-9_-]{0,14}$", f'up to 15 small letters, digits, "_" and "-", {_FIRST}')
]


class Record(Model):
    """How much a run writes."""

    level: Literal["summary", "series", "packets"] = Field(
        "series", description="summary: one row per flow and hop; series: also over time; packets: also every packet"
    )
    interval: Time = Field(
        10**8, gt=0, description="bin of the tables over time", json_schema_extra={"default": "100ms"}
    )


def _labelled(value: Any) -> Any:
    return label(value) if isinstance(value, (bool, int, float)) else value


def label(value: bool | float | str) -> str:  # noqa: FBT001 - a value of an axis like the others
    """A value of an axis as cells, tables and claims name it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_this_version(value: Any) -> Any:
    if value == "live":
        raise problem('"live" is not part of this version; write "sim", "emu" or "linux"')
    return value


Label = Annotated[str, BeforeValidator(_labelled)]


class Claim(Model):
    """A sentence that the results are expected to bear out."""

    id: ClaimId = Field(description="short name, unique in the file")
    says: str = Field(min_length=1, description="the claim in words")
    source: str | None = Field(None, description="who says so")
    where: dict[str, Label] = Field({}, description="the cells it is about: one value for some axes of the matrix")
    against: dict[str, Label] = Field(
        {},
        description="how the cells to compare with differ from those of `where`: what counts is then the ratio of the "
        "measure in the two, repeat by repeat",
    )
    measure: str = Field(
        min_length=1,
        description='e.g. "flow2.throughput_mbps / flow1.throughput_mbps", '
        '"total.pantheon.owd_p95_ms / published.owd_p95_ms" beside a reference, or, over all cells, '
        '"rank_correlation(total.loss, published.loss)"',
    )
    statistic: Literal["mean", "median"] = Field(
        "mean",
        description="what of the runs has to be as expected: a ratio to what can be next to nothing has no mean that "
        "more runs would tell better, but a median",
    )
    expect: str = Field(min_length=1, description='e.g. ">= 3"')
    note: str | None = Field(None, description="what a reader of the verdict should know")

    def is_about(self, labels: Mapping[str, str]) -> bool:
        """Whether a cell is one of those it is about, or that they are compared with."""
        sides = [self.where, {**self.where, **self.against}]
        return any(all(labels.get(axis) == label for axis, label in side.items()) for side in sides)


class ExperimentFile(Model):
    """One experiment: a path, flows, and what to vary.

    This is one cell of the matrix: the values of the axes stand where they belong, and `matrix` itself is gone.
    """

    name: ExperimentName = Field(description="names the folder of the results")
    title: str = Field("", description="heading of the report")
    description: str = Field("", description="a paragraph for the report")
    duration: Time = Field(gt=0, description="simulated time of one run")
    repeats: int = Field(1, ge=1, le=MAX_REPEATS, description="runs of each cell, each with a seed of its own")
    claim_repeats: int = Field(
        1,
        ge=1,
        le=MAX_REPEATS,
        description="runs of each cell that a claim is about, where that is more; `--repeats` replaces both",
    )
    seed: int = Field(1, ge=0, le=2**53, description="all randomness follows from it")
    world: Annotated[Literal["sim", "emu", "linux"], BeforeValidator(_of_this_version)] = Field(
        "sim", description='what executes the runs; "live" is not part of this version'
    )
    record: Record = Field(default_factory=Record, description="how much is recorded")
    start_jitter: Time = default(
        10**8,
        "100ms",
        "flows and probes start up to this much later, each by the seed; 0s: not at all. Which of several flows that "
        "are alike is first is then chance, and the first may get more: several repeats, or seeds, show it",
    )
    reference: Word | None = Field(None, description="published numbers to show beside ours")
    path: Path = Field(description="hops forward and back")
    flow: Flows = Field(description="the flows")
    probe: Probes = Field([], description="requests beside the flows that measure the round trip")
    variant: dict[VariantName, Variant] = Field({}, description="schemes with parameters, by names of their own")
    program: dict[ProgramName, Program] = Field({}, description="programs of others, as `program:NAME`; only in emu")
    controller: dict[ControllerName, Controller] = Field(
        {}, description="controllers for the kernel, as `kernel:NAME`; only in emu"
    )
    emulation: Emulation = Field(default_factory=Emulation, description="what only the emu world asks")
    claim: list[Claim] = Field([], max_length=1000, description="what the results are expected to show")


class NamedPath(Model):
    """A path file of the collection: `bakeoff list paths`."""

    title: str = Field(min_length=1)
    description: str = Field(min_length=1)
    source: str = Field(min_length=1)
    forward: Hops
    reverse: Hops | None = None


_AXES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "axes: a list of values for a key, or a table of named variants that set several keys",
    "additionalProperties": {
        "anyOf": [
            {"type": "array", "minItems": 1},
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "object", "minProperties": 1}},
        ]
    },
}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file as a person writes it.

    It is wider than `ExperimentFile` where other parts of the file fill in: a `path.use` replaces the hops.
    """
    schema = ExperimentFile.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "bakeoff experiment"
    schema["description"] = "An experiment file of bakeoff: path, flows, matrix and claims."
    schema["properties"]["matrix"] = _AXES_SCHEMA
    path = schema["$defs"]["Path"]
    use = "a named path, whose hops the hops given here override key by key"
    path["properties"]["use"] = {"type": "string", "description": use}
    path.pop("required")
    path["anyOf"] = [{"required": ["use"]}, {"required": ["forward"]}]
    return schema
