"""Writes docs/reference from the code, or says which page is out of date (`--check`)."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bakeoff import _core
from bakeoff.claims import expect, measure
from bakeoff.cli import main as cli
from bakeoff.experiment import catalogue, keys, matrix, units
from bakeoff.experiment.schema import json_schema
from bakeoff.metrics.definitions import DEFINITIONS
from bakeoff.recording.tables import SENTINEL, for_keeping
from bakeoff.worlds.frames import of_core
from schema_page import quoted, sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
NOTE = "<!-- Written by `make docs` from the code. -->"
# How the names of parameters of qdiscs end where their values have a unit.
UNIT = "(_ns|_time_ns|_bytes|_packets|_hz)?"
# How experiment files state what has a unit, the largest first.
LONGEST = {
    "ns": ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")),
    "bytes": ((1, "B"),),
    "packets": ((1, "pkt"),),
}
# Parameters in text by their unit: what reads them, and an example.
QUANTITIES: dict[str, tuple[Callable[[str], object], str]] = {
    "time": (units.parse_time, "80ms"),
    "size": (units.parse_size, "64kB"),
    "packets": (units.parse_packets, "50pkt"),
}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table, or nothing where there are no rows."""
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    if not lines:
        return []
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *lines, ""]


def page(title: str, *parts: str) -> str:
    """A page under its title."""
    return "\n".join([NOTE, "", f"# {title}", "", *parts]).rstrip() + "\n"


def number(value: float) -> str:
    """A number without a needless fraction."""
    return quoted(int(value) if value == int(value) else value)


def is_quantity(parameter: dict[str, Any], value: str) -> bool:
    """Whether a value may stand in an experiment file; a text without a unit may."""
    try:
        QUANTITIES.get(parameter["unit"], (str, ""))[0](value)
    except units.UnitError:
        return False
    return True


def default(parameter: dict[str, Any]) -> str:
    """The default of a parameter as it stands in an experiment file, or in words where none could stand there."""
    if parameter["kind"] == "file":
        return "none: has to be given"
    if parameter["kind"] == "text" and not is_quantity(parameter, parameter["default"]):
        return str(parameter["default"])
    return number(parameter["default"]) if parameter["kind"] == "number" else quoted(parameter["default"])


def allowed(parameter: dict[str, Any]) -> str:
    """Which values a parameter takes."""
    match parameter["kind"]:
        case "number":
            return f"{number(parameter['min'])} to {number(parameter['max'])}"
        case "choice":
            return " or ".join(quoted(option) for option in parameter["options"])
        case "profile":
            return " or ".join(quoted(profile["name"]) for profile in parameter["profiles"])
        case "flag":
            return "`true` or `false`"
        case "file":
            return f"path of {parameter['content']}"
        case _:
            _, example = QUANTITIES.get(parameter["unit"], (str, ""))
            return f"such as {quoted(example)}" if example else "text"


def entries(found: str) -> Iterator[str]:
    """The schemes or queues that the core lists."""
    for entry in json.loads(found):
        yield from (f"## `{entry['name']}`", "", f"{entry['title']}. Source: {entry['source']}.", "")
        if "validation" in entry:
            yield from (f"Held against: {entry['validation']}.", "")
        if "deviations" in entry:
            lists = entry["deviations"].startswith("- ")
            yield from (f"Deviations:{chr(10) * 2 if lists else ' '}{entry['deviations']}", "")
        yield from table(
            ("parameter", "values", "default", "unit", "meaning"),
            ((f"`{p['name']}`", allowed(p), default(p), p["unit"], p["doc"]) for p in entry["parameters"]),
        )
        for parameter in entry["parameters"]:
            if parameter["kind"] == "profile":
                rows = ((quoted(profile["name"]), profile["source"]) for profile in parameter["profiles"])
                yield from table(("profile", "source"), rows)
        yield from quantities(entry["telemetry"])


def quantities(found: Sequence[dict[str, str]]) -> list[str]:
    """A table of telemetry."""
    return table(("telemetry", "unit", "meaning"), ((f"`{q['name']}`", q["unit"], q["doc"]) for q in found))


def schemes() -> str:
    """The page of the congestion-control schemes."""
    intro = [
        "A flow names one in `scheme` and sets its parameters in `parameters`; `matrix.scheme` compares several.",
        "",
        "Names with a colon are real protocol stacks, unmodified, with one of their controllers: [quinn](../quinn.md).",
        "They run in `sim` and `emu`, take no parameters and no on-off traffic. In their tables `retransmits` counts",
        "the packets that the stack took for lost, `timeouts` is null, and no packet is flagged as a retransmission,",
        "because what a packet carries is encrypted.",
        "",
        "What each is held against is described in [validation](../validation.md), the original programs in",
        "[originals](../originals.md), their code in [event by event](../event-by-event.md).",
        "",
        "Every sender records the telemetry below, and its scheme may add to it; a stack may leave some out.",
        "",
        *quantities(json.loads(_core.telemetry())),
    ]
    return page("Schemes", *intro, *entries(_core.schemes()))


def queues() -> str:
    """The page of the queueing disciplines."""
    return page("Queues", "A hop names one in `queue.kind`.", "", *entries(_core.queues()))


def stated_as(queue: str, name: str) -> catalogue.Parameter | None:
    """The key of an experiment file that states a parameter of a qdisc, whose name may end in a unit; None if none."""
    return next(
        (key for key in catalogue.of_core().queues[queue].parameters if re.fullmatch(key.name + UNIT, name)), None
    )


def statable(parameter: dict[str, Any], key: catalogue.Parameter) -> dict[str, Any]:
    """A parameter of a qdisc with those of its values that the key takes."""
    if parameter["kind"] == "number":
        return parameter | {"min": max(parameter["min"], key.least), "max": min(parameter["max"], key.most)}
    if parameter["kind"] == "choice":
        return parameter | {"options": [pair for pair in parameter["options"] if pair[0] in key.options]}
    return parameter


def stated(value: float, unit: str) -> str:
    """A number with its unit as an experiment file states it."""
    for longer, words in LONGEST.get(unit, ()):
        if value % longer == 0:
            return quoted(f"{int(value / longer)}{words}")
    return number(value)


def kernel_values(parameter: dict[str, Any]) -> tuple[str, str]:
    """Which values a parameter of a qdisc takes, and how the kernel counts them."""
    match parameter["kind"]:
        case "number":
            unit, kernel_unit = parameter["unit"], parameter["kernel_unit"]
            least, most = stated(parameter["min"], unit), stated(parameter["max"], unit)
            return least if least == most else f"{least} to {most}", "" if kernel_unit == unit else kernel_unit
        case "choice":
            words = [quoted(word) for word, _ in parameter["options"]]
            return " or ".join(words), ", ".join(str(value) for _, value in parameter["options"])
        case _:
            return "`true` or `false`", ""


def code(text: str) -> str:
    """A text as code, unless parts of it are."""
    return text if "`" in text else f"`{text}`"


def kernel_default(parameter: dict[str, Any]) -> str:
    """The kernel's default, as an experiment file would state it if it is one value."""
    default: str = parameter["default"]
    if parameter["kind"] == "flag":
        return f"`{default}`"
    if parameter["kind"] == "number" and default.isdigit():
        return stated(int(default), parameter["unit"])
    return quoted(default.replace(" ", "")) if re.fullmatch(r"\d+ ms", default) else default


def by_keys(text: str, keys: Mapping[str, str]) -> str:
    """A text that names parameters of a qdisc by the keys of an experiment file."""
    return re.sub(r"`(\w+)`", lambda named: f"`{keys.get(named[1], named[1])}`", text)


def qdiscs() -> str:
    """The page of how queues map to Linux."""
    parts = [
        "In worlds made of real Linux a hop's queue is a queueing discipline of the kernel. A parameter that is not",
        "stated is not sent, so that the kernel's own default applies. A value that the kernel's unit misses by more",
        "than 1 % is refused. Parameters and values that no experiment file can state are left out of the tables.",
        "",
        "The queue is the leaf below a shaper at the link's rate, and lengths of packets are those of IP.",
        "",
    ]
    for entry in json.loads(_core.qdiscs()):
        names = " or ".join(f"`{name}`" for name in entry["qdiscs"])
        parts += [f"## `{entry['queue']}`", "", f"Becomes {names} (Linux `{entry['source']}`). {entry['doc']}", ""]
        keys_of = [(p, stated_as(entry["queue"], p["name"])) for p in entry["parameters"]]
        keys = {p["name"]: key.name for p, key in keys_of if key is not None}
        parts += table(
            ("parameter", "kernel's name", "values", "kernel's unit", "default", "meaning"),
            (
                (
                    f"`{key.name}`",
                    code(p["attribute"]),
                    *kernel_values(statable(p, key)),
                    *(by_keys(text, keys) for text in (kernel_default(p), p["doc"])),
                )
                for p, key in keys_of
                if key is not None
            ),
        )
        if left := [f"`{re.sub(UNIT + '$', '', p['name'])}`" for p, key in keys_of if key is None]:
            parts += [f"Cannot be stated, and has the kernel's default: {', '.join(left)}.", ""]
        parts += table(("what cannot be mapped", "why"), ((gap["what"], gap["why"]) for gap in entry["gaps"]))
    return page("Queues in Linux", *parts)


def kept_types(tables: Sequence[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """The types of the columns as they stand in Parquet files, by table and column.

    Args:
        tables: as the core declares them; a column that may lack a value is -1 in it then.
    """
    values: dict[str, Any] = {
        "u32": np.zeros(1, np.uint32),
        "u64": np.zeros(1, np.uint64),
        "i64": np.full(1, SENTINEL, np.int64),
        "f64": np.zeros(1),
        "bool": np.zeros(1, np.bool_),
        "text": [""],
    }
    made = {table["name"]: {c["name"]: values[c["kind"]] for c in table["columns"]} for table in tables}
    frames = {name: for_keeping(frame) for name, frame in of_core(made).items()}
    return {
        name: {
            column.name: str(column.dtype).lower() + (" or null" if column.null_count() else "")
            for column in frame.iter_columns()
        }
        for name, frame in frames.items()
    }


def recording() -> str:
    """The page of the tables in a recording."""
    tables = json.loads(_core.tables())
    types = kept_types(tables)
    parts = [
        "A run is a folder with `manifest.json` and one Parquet file per table; [Exports](../exports.md) shows how to",
        "read them. Column names end in their unit; what does not exist is null. Which tables there are depends on",
        "`record.level`: `summary` has `flows`, `hops` and `verdicts`; `series` adds `series`, `telemetry` and",
        "`hop_series`; `packets` adds `packets` and `passages`.",
        "Runs with probes have `probes` at every level.",
        "",
    ]
    for entry in tables:
        name = entry["name"]
        parts += [f"## `{name}`", "", entry["doc"], ""]
        rows = ((f"`{c['name']}`", types[name][c["name"]], c["doc"]) for c in entry["columns"])
        parts += table(("column", "type", "meaning"), rows)
    return page("Recordings", *parts)


def command_line() -> str:
    """The page of the commands, as `--help` shows them."""
    parts: list[str] = []

    def walk(command: click.Command, name: str, parent: click.Context | None) -> None:
        settings = {**command.context_settings, "max_content_width": 100, "terminal_width": 100}
        context = click.Context(command, info_name=name, parent=parent, **settings)
        parts.extend([f"## `{context.command_path}`", "", "```text", command.get_help(context), "```", ""])
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                if found is not None and not found.hidden:
                    walk(found, inner, context)

    walk(cli, "bakeoff", None)
    return page("Command line", *parts)


def experiment() -> str:
    """The page of experiment files."""
    parts = [
        "A TOML file; `#:schema experiment.schema.json` in its first line gives completion in editors that know TOML",
        "schemas. Quantities carry their unit. `bakeoff check FILE` says what is wrong with a file.",
        "",
    ]
    for title, module in (
        ("Quantities", units),
        ("Keys of `--set` and of axes", keys),
        ("The matrix in detail", matrix),
        ("The measure of a claim", measure),
        ("What a claim expects", expect),
        ("The verdict on a claim", importlib.import_module("bakeoff.claims.evaluate")),
    ):
        told = [text for text in (inspect.getdoc(module) or "").split("\n\n") if "Error" not in text]
        parts += [f"## {title}", "", "\n\n".join(told), ""]
    for title, description, found in sections(json_schema()):
        parts += [f"## {title}", "", description, ""]
        parts += table(("key", "values", "default", "meaning"), found)
    return page("Experiment files", *parts)


def experiment_schema() -> str:
    """The JSON Schema of experiment files, for editors."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def metrics() -> str:
    """The page of the metrics."""
    rows = (
        (f"`{d.name}`", ", ".join(d.scope), d.unit, d.meaning + (f" Source: {d.source}." if d.source else ""))
        for d in DEFINITIONS
    )
    intro = "What `--json` and the measures of claims contain. Ratios are 0 to 1; what does not exist is null."
    return page("Metrics", intro, "", *table(("metric", "of", "unit", "meaning"), rows))


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": command_line,
    "experiment.md": experiment,
    "experiment.schema.json": experiment_schema,
    "metrics.md": metrics,
    "qdiscs.md": qdiscs,
    "queues.md": queues,
    "recording.md": recording,
    "schemes.md": schemes,
}


def main() -> int:
    """Writes or checks every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is out of date")
    check = parser.parse_args().check
    stale = 0
    for name, write in PAGES.items():
        target = FOLDER / name
        text = write()
        if target.is_file() and target.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(f"{target.relative_to(Path.cwd())} is out of date: run `make docs`", file=sys.stderr)
            stale += 1
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(target.relative_to(Path.cwd()))
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main())
