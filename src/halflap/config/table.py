"""The table of every setting: its name, its kind, its default and its meaning; and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.config.kinds import WRONG, Choice, Flag, Kind, ListOf, MapOf, Number, Text, Value
from halflap.config.linting import FAIL_ON, IgnoreKind, RuleKind, SeverityKind
from halflap.config.nodes import shown
from halflap.config.programs import CacheKind, LmKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from halflap.config.nodes import Node, Problems

__all__ = [
    "FAMILIES",
    "SECTIONS",
    "SERVER_SETTINGS",
    "SETTINGS",
    "TOP_LEVEL",
    "Setting",
    "guess",
    "read_keys",
    "read_section",
]


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be configured; `default` is None where leaving it out means *none*."""

    name: str
    kind: Kind
    default: Any
    meaning: str

    @property
    def key(self) -> str:
        """The last part of its name, as it stands in its section."""
        return self.name.rpartition(".")[2]


_SECONDS = Number()
_TTL = Number(zero=True)
_COUNT = Number(whole=True)
_RECORD = Choice(options=("full", "metadata", "off"))
_GLOBS = ListOf(item=Text(noun="a name or glob"), noun="names or globs")
_HOSTS = ListOf(item=Text())
_PLACE = Text(secret=True)
_TRANSPORTS = dict.fromkeys(("streamable-http", "streamable_http", "streamableHttp"), "http")
_TRANSPORT = Choice(options=("stdio", "http", "sse"), spellings=_TRANSPORTS)

FAMILIES = ("core", "dspy", "gepa")
"""The families of Halflap's own tools."""

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "server.families",
        ListOf(item=Choice(options=FAMILIES), noun="families of tools"),
        (),
        "The families of Halflap's own tools that clients see; empty means all that there are. There are `core`, `dspy` and `gepa`.",
    ),
    Setting("tools.allow", _GLOBS, None, "Only these tools can be called. Not together with `tools.block`."),
    Setting("tools.block", _GLOBS, (), "These tools cannot be called. Not together with `tools.allow`."),
    Setting("tools.read_only", _GLOBS, (), "These tools change nothing, whatever their server says."),
    Setting("tools.destructive", _GLOBS, (), "These tools destroy something, whatever their server says."),
    Setting(
        "tools.pin",
        Choice(options=("off", "warn", "hold")),
        "warn",
        "What happens when the definition of a tool changes: nothing, a warning, or the tool is held back.",
    ),
    Setting(
        "execution.sandbox",
        Choice(options=("auto", "jail", "hardened", "monty", "off")),
        "auto",
        "Where programs run: `jail` (Linux), `hardened` (the same, with every layer or not at all), `monty`, or nowhere. `auto` takes the jail, elsewhere monty.",
    ),
    Setting(
        "execution.check",
        Choice(options=("on", "hints", "off")),
        "on",
        "What is done with what the check before a run finds: `on` keeps a program with a certain mistake from running, `hints` only tells of it if the program fails, `off` checks nothing.",
    ),
    Setting(
        "execution.modules",
        ListOf(item=Text(noun="the name of a module"), noun="names of modules"),
        (),
        "Modules beyond the standard library that programs can import. They must be installed beside Halflap.",
    ),
    Setting(
        "execution.read_only",
        Flag(),
        False,
        "Programs can call only tools that are known to change nothing.",
    ),
    Setting(
        "execution.confirm_destructive",
        Flag(),
        False,
        "The person is asked before a program may call tools that are known to destroy something.",
    ),
    Setting("execution.timeout_seconds", _SECONDS, 120.0, "How long a program may run."),
    Setting("execution.cpu_seconds", _COUNT, 60, "How long a program may compute."),
    Setting("execution.max_memory_mb", _COUNT, 512, "How much memory a program may use, in MiB."),
    Setting(
        "execution.max_output_bytes",
        _COUNT,
        65_536,
        "How much of its output goes back to the model: what it printed, and the text of what it showed.",
    ),
    Setting(
        "execution.max_kept_output_bytes",
        _COUNT,
        16_777_216,
        "How much a program may print at all; all of it is kept, beyond it the program is ended.",
    ),
    Setting(
        "execution.max_shown",
        _COUNT,
        20,
        "How many images, sounds and resources a program may show the model.",
    ),
    Setting(
        "execution.max_shown_bytes",
        _COUNT,
        8_388_608,
        "How much data, as base64, they may have together; their text counts as output.",
    ),
    Setting("execution.max_calls", _COUNT, 1_000, "How many calls a program may make."),
    Setting("execution.max_concurrent_calls", _COUNT, 16, "How many of them at a time; further ones wait."),
    Setting(
        "execution.max_value_bytes",
        _COUNT,
        8_388_608,
        "How large the arguments or the result of one call may be in a program.",
    ),
    Setting("execution.max_programs", _COUNT, 8, "How many programs run at a time; further ones wait."),
    Setting(
        "ttl.list_seconds",
        _TTL,
        300.0,
        "How long a server's list of tools counts as fresh. A running gateway then answers with what it has and asks behind.",
    ),
    Setting("ttl.schema_seconds", _TTL, 3600.0, "How long the schemas of a tool count as fresh, likewise."),
    Setting(
        "ttl.per_tool",
        MapOf(item=_TTL, noun="globs to seconds"),
        {},
        "Another time for the schemas of tools that match a glob.",
    ),
    Setting("store.path", _PLACE, None, "The SQLite file of the store. Not together with `store.url`."),
    Setting("store.url", _PLACE, None, "A PostgreSQL database as the store. Not together with `store.path`."),
    Setting(
        "traces.record",
        _RECORD,
        "full",
        "What is kept of runs and calls: everything, all but code, arguments, results, output and errors, or nothing.",
    ),
    Setting(
        "traces.per_tool",
        MapOf(item=_RECORD, noun="globs to full, metadata or off"),
        {},
        "Another choice for the calls of tools that match a glob.",
    ),
    Setting("traces.keep_days", Number(), 30.0, "How long runs and calls are kept."),
    Setting(
        "traces.keep_mb", Number(), 512.0, "How much of them is kept, in megabytes; the oldest go first."
    ),
    Setting(
        "traces.max_value_bytes",
        _COUNT,
        1_048_576,
        "How much of one call's arguments, and of its result, is kept.",
    ),
    Setting(
        "learning.enabled",
        Flag(),
        True,
        "What tools return is learned from the results that pass, and shown.",
    ),
    Setting(
        "learning.values",
        Flag(),
        False,
        "Short texts that repeat in results are kept too, where there are few, and become enumerations.",
    ),
    Setting(
        "graph.lineage",
        Flag(),
        True,
        "Which results' values later calls of the same run took is counted, and tells which tools feed which.",
    ),
    Setting(
        "lint.off",
        ListOf(item=RuleKind(), noun="ids of rules"),
        (),
        "Rules that `halflap lint` does not apply.",
    ),
    Setting(
        "lint.severity",
        SeverityKind(),
        {},
        "Another severity for rules: it counts for the score and the exit code.",
    ),
    Setting(
        "lint.ignore",
        IgnoreKind(),
        (),
        "Findings that are ignored: a rule or glob, the tools by name or glob (all, if left out), and the reason.",
    ),
    Setting(
        "lint.fail_on",
        Choice(options=FAIL_ON),
        "error",
        "From which severity on a finding makes the exit code 1.",
    ),
    Setting("lint.max_name_length", _COUNT, 64, "How many characters the name of a tool may have."),
    Setting(
        "lint.max_description_bytes", _COUNT, 2_048, "How many bytes the description of a tool may have."
    ),
    Setting("http.allowed_hosts", _HOSTS, (), "Further values of the `Host` header that are answered."),
    Setting("http.allowed_origins", _HOSTS, (), "Further values of the `Origin` header that are answered."),
    Setting(
        "http.tokens",
        MapOf(item=Text(secret=True), noun="people to tokens", secret=True),
        {},
        "Who is let in, each by a token of their own, instead of everybody by the one that Halflap makes.",
    ),
    Setting(
        "programs.root",
        _PLACE,
        None,
        "The folder of your DSPy programs. Without it there are those that ship with Halflap.",
    ),
    Setting(
        "programs.watch",
        Flag(),
        False,
        "DSPy programs whose files change are loaded anew, without being asked to.",
    ),
    Setting("programs.timeout_seconds", _SECONDS, 60.0, "How long a DSPy program may run."),
    Setting(
        "programs.cache",
        CacheKind(),
        None,
        "Where answers of the language model are kept, so that the same question is not asked twice; by default a folder of Halflap's own.",
    ),
    Setting("programs.lm", LmKind(), None, "The language model that DSPy programs ask."),
    Setting(
        "workflows.timeout_seconds",
        _SECONDS,
        60.0,
        "How long a workflow may be optimised, compared or scored for a client.",
    ),
    Setting("upstream.start_timeout_seconds", _SECONDS, 30.0, "How long a server may take to start."),
    Setting(
        "upstream.call_timeout_seconds",
        _SECONDS,
        60.0,
        "How long a call may stay without answer or progress.",
    ),
    Setting(
        "upstream.max_call_timeout_seconds", _SECONDS, 600.0, "How long a call may take, progress or not."
    ),
    Setting("upstream.max_concurrent_calls", _COUNT, 16, "How many calls one server gets at a time."),
    Setting(
        "roots",
        ListOf(item=Text(noun="a path or a file:// URI"), noun="paths or file:// URIs"),
        (),
        "The folders that are named to servers that ask for roots.",
    ),
)

SERVER_SETTINGS: tuple[Setting, ...] = (
    Setting("name", Text(), None, "The server's name, in the list form; elsewhere its key is its name."),
    Setting(
        "transport",
        _TRANSPORT,
        None,
        "How to talk to it. By default `stdio` with a command; with a URL, HTTP and then SSE.",
    ),
    Setting("type", _TRANSPORT, None, "Another name of `transport`."),
    Setting("command", _PLACE, None, "The program to start."),
    Setting("args", ListOf(item=Text(secret=True, empty=True), secret=True), (), "Its arguments."),
    Setting(
        "env", MapOf(item=Value(), noun="names to values", secret=True), {}, "Its environment variables."
    ),
    Setting("envFile", _PLACE, None, "A file of `NAME=value` lines; `env` wins over it."),
    Setting("cwd", _PLACE, None, "The folder it runs in."),
    Setting("url", _PLACE, None, "The address of a server that runs already."),
    Setting(
        "headers", MapOf(item=Value(), noun="names to values", secret=True), {}, "Sent with each request."
    ),
    Setting("trust_annotations", Flag(), False, "Whether to believe what the server says of its tools."),
    Setting("disabled", Flag(), False, "Leaves the server out; nothing in it is expanded."),
    Setting("enabled", Flag(), True, "The opposite of `disabled`."),
    Setting(
        "protocol", Choice(options=("auto", "legacy", "modern")), "auto", "Which generation of MCP it speaks."
    ),
    Setting("start_timeout_seconds", _SECONDS, None, "Instead of `upstream.start_timeout_seconds`."),
    Setting("call_timeout_seconds", _SECONDS, None, "Instead of `upstream.call_timeout_seconds`."),
    Setting("max_call_timeout_seconds", _SECONDS, None, "Instead of `upstream.max_call_timeout_seconds`."),
    Setting("max_concurrent_calls", _COUNT, None, "Instead of `upstream.max_concurrent_calls`."),
)

SECTIONS: Mapping[str, tuple[Setting, ...]] = {
    section: tuple(setting for setting in SETTINGS if setting.name.startswith(f"{section}."))
    for section in dict.fromkeys(
        setting.name.partition(".")[0] for setting in SETTINGS if "." in setting.name
    )
}

FOREIGN_TOP_LEVEL = frozenset({"$schema", "globalShortcut", "preferences"})
"""What other clients keep beside their servers, in the same file."""

TOP_LEVEL = ("mcpServers", "servers", "inputs", *SECTIONS, "roots")


def guess(key: str, known: Collection[str]) -> str:
    """Suggest the key that was probably meant, else name those there are."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 -- few make a mistake

    found = process.extractOne(
        key.lower(), tuple(known), scorer=fuzz.ratio, processor=str.lower, score_cutoff=60
    )
    if found is not None:
        return f"Did you mean `{found[0]}`?"
    return f"Known keys: {', '.join(f'`{name}`' for name in known)}."


def read_keys(
    node: Node,
    where: str,
    settings: Collection[Setting],
    problems: Problems,
    *,
    ignored: Collection[str] = (),
    instead: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Give the values of a mapping by key, less what is wrong; `instead` has advice on certain unknown keys."""
    known = {setting.key: setting.kind for setting in settings}
    values: dict[str, Any] = {}
    for key, member in node.mapping.items():
        if key in known:
            value = known[key].read(member, f"{where}.{key}", problems)
            if value is not WRONG:
                values[key] = value
        elif key not in ignored:
            advice = (instead or {}).get(key) or guess(key, known)
            problems.add(
                member.line, f"unknown key `{shown(key)}` in `{where}`.", advice, code="config-unknown-key"
            )
    return values


def read_section(root: Node, section: str, problems: Problems) -> dict[str, Any]:
    """Give the values of one section of a file; an empty one is as good as none."""
    node = root.mapping.get(section)
    if node is None or node.value is None:
        return {}
    if not isinstance(node.value, Mapping):
        problems.add(
            node.line,
            f"{section} must be a mapping of keys to values, not {node.kind}.",
            f"Write the settings of `{section}` below it, indented.",
        )
        return {}
    return read_keys(node, section, SECTIONS[section], problems)
