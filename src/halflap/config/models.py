"""Every setting with its type, default and documentation.

These models are the single source: files are validated by them, and the tables of docs/configuration.md and the
published JSON Schema are generated from them. `ConfigFile` is the whole file. `values` has the types of the values.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from halflap.config.values import (
    ApiBase,
    CacheFolder,
    Command,
    Count,
    DatabaseUrl,
    Environment,
    Expanded,
    ExpandedPath,
    Flag,
    Freshness,
    Headers,
    InheritedEnvironment,
    LintRule,
    LintRulePattern,
    MaybeEmpty,
    ModelName,
    PathText,
    Pattern,
    Root,
    Seconds,
    ServerUrl,
    Text,
    Tokens,
    TransportName,
)

__all__ = [
    "FAMILIES",
    "SECTIONS",
    "ConfigFile",
    "ExecutionConfig",
    "FrontConfig",
    "GraphConfig",
    "HttpConfig",
    "LearningConfig",
    "LintConfig",
    "LintIgnore",
    "LmConfig",
    "ProgramsConfig",
    "Protocol",
    "Record",
    "ServerEntry",
    "StoreConfig",
    "ToolsConfig",
    "TopLevel",
    "TracesConfig",
    "TtlConfig",
    "UpstreamDefaults",
    "WorkflowsConfig",
]

Protocol = Literal["auto", "legacy", "modern"]
Record = Literal["full", "metadata", "off"]
Family = Literal["core", "dspy", "gepa"]
FAMILIES: tuple[str, ...] = get_args(Family)
Severity = Literal["error", "warning", "info"]


class Section(BaseModel):
    """A group of settings. Validators are built when a section is first used, to keep the start quick."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)


class FrontConfig(Section):
    """What clients see of Halflap itself."""

    families: tuple[Family, ...] = Field(
        default=(),
        description="Families of Halflap's own tools that clients see. By default `core`, and `dspy` if `programs.lm` is set.",
    )


class ToolsConfig(Section):
    """Which tools may be called, and what you know about them."""

    allow: tuple[Pattern, ...] | None = Field(
        default=None, description="Only these tools can be called. Excludes `tools.block`."
    )
    block: tuple[Pattern, ...] = Field(
        default=(), description="These tools can't be called. Excludes `tools.allow`."
    )
    read_only: tuple[Pattern, ...] = Field(
        default=(), description="These tools change nothing, whatever their server says."
    )
    destructive: tuple[Pattern, ...] = Field(
        default=(), description="These tools delete or overwrite something, whatever their server says."
    )
    pin: Literal["off", "warn", "hold"] = Field(
        default="warn",
        description="When the definition of a tool changes: do nothing, warn, or hold the tool until you accept it.",
    )


class ExecutionConfig(Section):
    """Where programs run, what they may call, and their limits."""

    sandbox: Literal["auto", "jail", "hardened", "monty", "off"] = Field(
        default="auto",
        description="Where programs run: `jail` (Linux), `hardened` (the jail with every layer, or not at all), "
        "`monty`, or nowhere. `auto` takes the jail, elsewhere monty.",
    )
    check: Literal["on", "hints", "off"] = Field(
        default="on",
        description="The check before a run: `on` refuses a program with a certain mistake, `hints` mentions mistakes "
        "only if the program fails, `off` checks nothing.",
    )
    modules: tuple[Text, ...] = Field(
        default=(),
        description="Modules beyond the standard library that programs can import. "
        "They must be installed alongside Halflap.",
    )
    read_only: Flag = Field(
        default=False, description="Programs can only call tools that are known to change nothing."
    )
    confirm_destructive: Flag = Field(
        default=False,
        description="Ask the person before a program may call tools that are known to be destructive.",
    )
    timeout_seconds: Seconds = Field(default=120.0, description="Time limit of a program.")
    cpu_seconds: Count = Field(default=60, description="CPU time limit of a program.")
    max_memory_mb: Count = Field(default=512, description="Memory limit of a program, in MiB.")
    max_output_bytes: Count = Field(
        default=65_536,
        description="How much output goes back to the model: what was printed, and the text of what was shown.",
    )
    max_kept_output_bytes: Count = Field(
        default=16_777_216,
        description="How much a program may print in total. All of it is kept; beyond that the program is stopped.",
    )
    max_shown: Count = Field(
        default=20, description="How many images, audio clips and resources a program may show the model."
    )
    max_shown_bytes: Count = Field(
        default=8_388_608, description="Their total size as base64; their text counts as output."
    )
    max_calls: Count = Field(default=1_000, description="How many calls a program may make.")
    max_concurrent_calls: Count = Field(
        default=16, description="How many of them may be open at the same time; further ones wait."
    )
    max_value_bytes: Count = Field(
        default=8_388_608,
        description="Size limit of the arguments, and of the result, of one call in a program.",
    )
    max_programs: Count = Field(
        default=8, description="How many programs may run at the same time; further ones wait."
    )


class TtlConfig(Section):
    """How long what servers say about their tools is considered fresh."""

    list_seconds: Freshness = Field(
        default=300.0,
        description="How long a server's list of tools is fresh. After that a running gateway still answers with what "
        "it has, and refreshes it in the background.",
    )
    schema_seconds: Freshness = Field(
        default=3600.0, description="How long the schemas of a tool are fresh, likewise."
    )
    per_tool: dict[str, Freshness] = Field(
        default={}, description="Another value of `ttl.schema_seconds` for tools that match a glob."
    )


class StoreConfig(Section):
    """Where the store is. With neither setting, it is a SQLite file in the data folder."""

    path: ExpandedPath | None = Field(
        default=None, description="The SQLite file of the store. Excludes `store.url`."
    )
    url: DatabaseUrl | None = Field(
        default=None, description="A PostgreSQL database as the store. Excludes `store.path`.", repr=False
    )


class TracesConfig(Section):
    """What is recorded of runs and calls, and for how long."""

    record: Record = Field(
        default="full",
        description="What is recorded of runs and calls: everything; `metadata`, which leaves out code, arguments, "
        "results, output and errors; or nothing.",
    )
    per_tool: dict[Pattern, Record] = Field(
        default={}, description="Another value of `traces.record` for calls of tools that match a glob."
    )
    keep_days: Seconds = Field(default=30.0, description="How long runs and calls are kept.")
    keep_mb: Seconds = Field(
        default=512.0, description="How much of them is kept, in megabytes; the oldest are deleted first."
    )
    max_value_bytes: Count = Field(
        default=1_048_576, description="How much of a call's arguments, and of its result, is kept."
    )


class LearningConfig(Section):
    """Whether Halflap learns from results."""

    enabled: Flag = Field(
        default=True, description="Learn what tools return from their results, and show it."
    )
    values: Flag = Field(
        default=False,
        description="Also keep short texts that repeat in results, so that they become enumerations.",
    )


class GraphConfig(Section):
    """What the graph of tools is based on."""

    lineage: Flag = Field(
        default=True,
        description="Count which values of results later calls of the same run use: this tells which tools feed which.",
    )


class LintIgnore(Section):
    """Findings to ignore, and why."""

    rule: LintRulePattern = Field(description="A rule, or a glob such as `date-*`.")
    reason: Text = Field(description="Why these findings are ignored.")
    tools: Pattern = Field(default="*", description="The name of a tool, or a glob.")


class LintConfig(Section):
    """How strict the linter is, and about what."""

    off: tuple[LintRule, ...] = Field(default=(), description="Rules that `halflap lint` does not apply.")
    severity: dict[LintRule, Severity] = Field(
        default={}, description="Another severity for a rule; it affects the score and the exit code."
    )
    ignore: tuple[LintIgnore, ...] = Field(
        default=(),
        description="Findings to ignore: `rule` (an id or glob), `tools` (all if left out) and `reason`.",
    )
    fail_on: Literal["error", "warning", "info", "never"] = Field(
        default="error", description="The lowest severity that makes the exit code 1."
    )
    max_name_length: Count = Field(default=64, description="How many characters the name of a tool may have.")
    max_description_bytes: Count = Field(
        default=2_048, description="How many bytes the description of a tool may have."
    )


class HttpConfig(Section):
    """Who may use Halflap over HTTP."""

    allowed_hosts: tuple[Text, ...] = Field(
        default=(), description="Further accepted values of the `Host` header."
    )
    allowed_origins: tuple[Text, ...] = Field(
        default=(), description="Further accepted values of the `Origin` header."
    )
    tokens: Tokens = Field(
        default={},
        description="A token for each person, by name, instead of the one that Halflap makes for everyone.",
        repr=False,
    )


class LmConfig(Section):
    """The language model of DSPy programs."""

    model: ModelName = Field(
        description="Provider and model, as DSPy names them: `openai/gpt-4o-mini`, `ollama_chat/llama3.2`. Required."
    )
    api_base: ApiBase | None = Field(
        default=None, description="The URL of an endpoint other than the provider's own.", repr=False
    )
    api_key: Expanded | None = Field(
        default=None,
        description="The API key, best written as a `${VARIABLE}`. Halflap takes no key from the environment, so a "
        "provider's model needs one here; Ollama, and a server of your own under `api_base`, need none.",
        repr=False,
    )
    timeout: Seconds | None = Field(
        default=None, description="Time limit of one answer in seconds; by default that of the program."
    )
    temperature: Freshness | None = Field(
        default=None, description="Sampling temperature; by default DSPy's."
    )
    max_tokens: Count | None = Field(
        default=None, description="Length limit of an answer; by default DSPy's."
    )
    adapter: Literal["chat", "json"] = Field(
        default="chat",
        description="How fields are requested. With an `api_base` of your own, `json` also sends the answer's JSON "
        "Schema (`response_format`), which servers such as llama.cpp enforce.",
    )


class ProgramsConfig(Section):
    """DSPy programs: where they are, their time limit, and the model they use."""

    root: ExpandedPath | None = Field(
        default=None,
        description="The folder of your DSPy programs. Without it, the ones that ship with Halflap are used.",
    )
    watch: Flag = Field(default=False, description="Reload DSPy programs when their files change.")
    timeout_seconds: Seconds = Field(default=60.0, description="Time limit of a DSPy program.")
    cache: CacheFolder = Field(
        default=None,
        description="Folder of cached answers of the model, or `off`; by default a folder in the data folder.",
    )
    lm: LmConfig | None = Field(default=None, description="The language model that DSPy programs use.")


class WorkflowsConfig(Section):
    """Limits of analysing workflows."""

    timeout_seconds: Seconds = Field(
        default=60.0, description="Time limit for optimising, comparing or scoring a workflow for a client."
    )


class UpstreamDefaults(Section):
    """Limits of every server that has none of its own."""

    start_timeout_seconds: Seconds = Field(default=30.0, description="How long a server may take to start.")
    call_timeout_seconds: Seconds = Field(
        default=60.0, description="How long a call may go without an answer or progress."
    )
    max_call_timeout_seconds: Seconds = Field(
        default=600.0, description="How long a call may take altogether, whatever progress it reports."
    )
    max_concurrent_calls: Count = Field(
        default=16, description="How many calls one server gets at the same time."
    )


class ServerEntry(Section):
    """A server as a file describes it: either a `command` that Halflap starts, or the `url` of a running one."""

    name: Text | None = Field(
        default=None, description="The server's name in the list form; elsewhere its key is its name."
    )
    transport: TransportName | None = Field(
        default=None,
        description="By default `stdio` with a command; with a URL, streamable HTTP and then SSE.",
    )
    type: TransportName | None = Field(default=None, description="Another name for `transport`.")
    command: Command | None = Field(default=None, description="The program to start.")
    args: tuple[MaybeEmpty, ...] = Field(default=(), description="Its arguments.")
    env: Environment = Field(default={}, description="Its environment variables.")
    env_file: PathText | None = Field(
        default=None,
        alias="envFile",
        description="A file of `NAME=value` lines; `env` takes precedence over it.",
    )
    inherit_env: InheritedEnvironment = Field(
        default=False,
        description="Variables of Halflap's own environment that it also gets: `true` for all, or a list of names.",
    )
    cwd: PathText | None = Field(default=None, description="The folder it runs in.")
    url: ServerUrl | None = Field(
        default=None, description="The address of a server that is already running."
    )
    headers: Headers = Field(default={}, description="Headers of every request.")
    trust_annotations: Flag = Field(
        default=False, description="Believe what the server says about its tools."
    )
    disabled: Flag = Field(default=False, description="Don't use the server; its variables are not expanded.")
    enabled: Flag = Field(default=True, description="The opposite of `disabled`.")
    protocol: Protocol = Field(default="auto", description="Which generation of MCP it speaks.")
    start_timeout_seconds: Seconds | None = Field(
        default=None, description="Overrides `upstream.start_timeout_seconds`."
    )
    call_timeout_seconds: Seconds | None = Field(
        default=None, description="Overrides `upstream.call_timeout_seconds`."
    )
    max_call_timeout_seconds: Seconds | None = Field(
        default=None, description="Overrides `upstream.max_call_timeout_seconds`."
    )
    max_concurrent_calls: Count | None = Field(
        default=None, description="Overrides `upstream.max_concurrent_calls`."
    )


class TopLevel(Section):
    """Settings outside any section."""

    roots: tuple[Root, ...] = Field(
        default=(), description="Folders, as paths or file:// URIs, for servers that ask for roots."
    )


class ConfigFile(TopLevel):
    """Halflap's configuration file."""

    mcpServers: dict[str, ServerEntry] = Field(  # noqa: N815 -- the clients' own name
        default={}, description="Servers by name, as in Claude and Cursor."
    )
    servers: dict[str, ServerEntry] | tuple[ServerEntry, ...] = Field(
        default={}, description="Servers by name, as in VS Code, or as a list."
    )
    inputs: Any = Field(default=None, description="Ignored; VS Code keeps it next to its servers.")
    server: FrontConfig = FrontConfig.model_construct()
    tools: ToolsConfig = ToolsConfig.model_construct()
    execution: ExecutionConfig = ExecutionConfig.model_construct()
    ttl: TtlConfig = TtlConfig.model_construct()
    store: StoreConfig = StoreConfig.model_construct()
    traces: TracesConfig = TracesConfig.model_construct()
    learning: LearningConfig = LearningConfig.model_construct()
    graph: GraphConfig = GraphConfig.model_construct()
    lint: LintConfig = LintConfig.model_construct()
    http: HttpConfig = HttpConfig.model_construct()
    programs: ProgramsConfig = ProgramsConfig.model_construct()
    workflows: WorkflowsConfig = WorkflowsConfig.model_construct()
    upstream: UpstreamDefaults = UpstreamDefaults.model_construct()


SECTIONS: Mapping[str, type[Section]] = {
    name: info.annotation
    for name, info in ConfigFile.model_fields.items()
    if isinstance(info.annotation, type) and issubclass(info.annotation, Section)
}
