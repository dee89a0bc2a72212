"""Every setting with its type, default and documentation.

These models are the single source: files are validated by them, and the tables of docs/configuration.md and the
published JSON Schema are generated from them. `ConfigFile` is the whole file. `values` has the types of the values.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from halflap.config.problems import problem
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
    Text,
    Tokens,
    TransportName,
    WebAddress,
)

Protocol = Literal["auto", "legacy", "modern"]
Record = Literal["full", "metadata", "off"]
Family = Literal["core", "dspy", "gepa"]
FAMILIES: tuple[str, ...] = get_args(Family)
Severity = Literal["error", "warning", "info"]
ALIASES = {"url": ("url", "serverUrl", "httpUrl"), "env": ("env", "environment")}
"""Other clients' names for our keys, after ours."""
_NO_SANDBOX = "Halflap does not confine servers; remove it if you accept that."


def setting(default: Any, description: str, **more: Any) -> Any:
    return Field(default, description=description, **more)


class Section(BaseModel):
    """A group of settings. Validators are built when a section is first used, to keep the start quick."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)


class FrontConfig(Section):
    """What clients see of Halflap itself."""

    families: tuple[Family, ...] = setting(
        (),
        "Families of Halflap's own tools that clients see. By default `core`, and `dspy` if `programs.lm` is set.",
    )


class ToolsConfig(Section):
    """Which tools may be called, and what you know about them."""

    allow: tuple[Pattern, ...] | None = setting(
        None, "Only these tools can be called. Excludes `tools.block`."
    )
    block: tuple[Pattern, ...] = setting((), "These tools can't be called. Excludes `tools.allow`.")
    read_only: tuple[Pattern, ...] = setting((), "These tools change nothing, whatever their server says.")
    destructive: tuple[Pattern, ...] = setting(
        (), "These tools delete or overwrite something, whatever their server says."
    )
    pin: Literal["off", "warn", "hold"] = setting(
        "warn",
        "When the definition of a tool changes: do nothing, warn, or hold the tool until you accept it.",
    )

    @model_validator(mode="after")
    def _exclusive(self) -> Self:
        if {"allow", "block"} <= self.model_fields_set:
            raise problem("config-exclusive", "allow and block exclude each other.", "Keep one.", at="block")
        return self


class ExecutionConfig(Section):
    """Where programs run, what they may call, and their limits."""

    sandbox: Literal["auto", "jail", "hardened", "monty", "off"] = setting(
        "auto",
        "Where programs run: `jail` (Linux), `hardened` (the jail with every layer, or not at all), "
        "`monty`, or nowhere. `auto` takes the jail, elsewhere monty.",
    )
    check: Literal["on", "hints", "off"] = setting(
        "on",
        "The check before a run: `on` refuses a program with a certain mistake, `hints` mentions mistakes "
        "only if the program fails, `off` checks nothing.",
    )
    modules: tuple[Text, ...] = setting(
        (),
        "Modules beyond the standard library that programs can import. "
        "They must be installed alongside Halflap.",
    )
    read_only: Flag = setting(False, "Programs can only call tools that are known to change nothing.")
    confirm_destructive: Flag = setting(
        False, "Ask the person before a program may call tools that are known to be destructive."
    )
    timeout_seconds: Seconds = setting(120.0, "Time limit of a program.")
    cpu_seconds: Count = setting(60, "CPU time limit of a program.")
    max_memory_mb: Count = setting(512, "Memory limit of a program, in MiB.")
    max_output_bytes: Count = setting(
        65_536, "How much output goes back to the model: what was printed, and the text of what was shown."
    )
    max_kept_output_bytes: Count = setting(
        16_777_216,
        "How much a program may print in total. All of it is kept; beyond that the program is stopped.",
    )
    max_shown: Count = setting(20, "How many images, audio clips and resources a program may show the model.")
    max_shown_bytes: Count = setting(8_388_608, "Their total size as base64; their text counts as output.")
    max_calls: Count = setting(1_000, "How many calls a program may make.")
    max_concurrent_calls: Count = setting(
        16, "How many of them may be open at the same time; further ones wait."
    )
    max_value_bytes: Count = setting(
        8_388_608, "Size limit of the arguments, and of the result, of one call in a program."
    )
    max_programs: Count = setting(8, "How many programs may run at the same time; further ones wait.")


class TtlConfig(Section):
    """How long what servers say about their tools is considered fresh."""

    list_seconds: Freshness = setting(
        300.0,
        "How long a server's list of tools is fresh. After that a running gateway still answers with what "
        "it has, and refreshes it in the background.",
    )
    schema_seconds: Freshness = setting(3600.0, "How long the schemas of a tool are fresh, likewise.")
    per_tool: dict[str, Freshness] = setting(
        {}, "Another value of `ttl.schema_seconds` for tools that match a glob."
    )


class StoreConfig(Section):
    """Where the store is. With neither setting, it is a SQLite file in the data folder."""

    path: ExpandedPath | None = setting(None, "The SQLite file of the store. Excludes `store.url`.")
    url: DatabaseUrl | None = setting(
        None, "A PostgreSQL database as the store. Excludes `store.path`.", repr=False
    )

    @model_validator(mode="after")
    def _exclusive(self) -> Self:
        if {"path", "url"} <= self.model_fields_set:
            raise problem("config-exclusive", "path and url exclude each other.", "Keep one.", at="url")
        return self


class TracesConfig(Section):
    """What is recorded of runs and calls, and for how long."""

    record: Record = setting(
        "full",
        "What is recorded of runs and calls: everything; `metadata`, which leaves out code, arguments, "
        "results, output and errors; or nothing.",
    )
    per_tool: dict[Pattern, Record] = setting(
        {}, "Another value of `traces.record` for calls of tools that match a glob."
    )
    keep_days: Seconds = setting(30.0, "How long runs and calls are kept.")
    keep_mb: Seconds = setting(512.0, "How much of them is kept, in megabytes; the oldest are deleted first.")
    max_value_bytes: Count = setting(1_048_576, "How much of a call's arguments, and of its result, is kept.")


class LearningConfig(Section):
    """Whether Halflap learns from results."""

    enabled: Flag = setting(True, "Learn what tools return from their results, and show it.")
    values: Flag = setting(
        False, "Also keep short texts that repeat in results, so that they become enumerations."
    )


class GraphConfig(Section):
    """What the graph of tools is based on."""

    lineage: Flag = setting(
        True,
        "Count which values of results later calls of the same run use: this tells which tools feed which.",
    )


class LintIgnore(Section):
    """Findings to ignore, and why."""

    rule: LintRulePattern = setting(..., "A rule, or a glob such as `date-*`.")
    reason: Text = setting(..., "Why these findings are ignored.")
    tools: Pattern = setting("*", "The name of a tool, or a glob.")


class LintConfig(Section):
    """How strict the linter is, and about what."""

    off: tuple[LintRule, ...] = setting((), "Rules that `halflap lint` does not apply.")
    severity: dict[LintRule, Severity] = setting(
        {}, "Another severity for a rule; it affects the score and the exit code."
    )
    ignore: tuple[LintIgnore, ...] = setting(
        (), "Findings to ignore: `rule` (an id or glob), `tools` (all if left out) and `reason`."
    )
    fail_on: Literal["error", "warning", "info", "never"] = setting(
        "error", "The lowest severity that makes the exit code 1."
    )
    max_name_length: Count = setting(64, "How many characters the name of a tool may have.")
    max_description_bytes: Count = setting(2_048, "How many bytes the description of a tool may have.")


class HttpConfig(Section):
    """Who may use Halflap over HTTP."""

    allowed_hosts: tuple[Text, ...] = setting((), "Further accepted values of the `Host` header.")
    allowed_origins: tuple[Text, ...] = setting((), "Further accepted values of the `Origin` header.")
    tokens: Tokens = setting(
        {},
        "A token for each person, by name, instead of the one that Halflap makes for everyone.",
        repr=False,
    )


class LmConfig(Section):
    """The language model of DSPy programs."""

    model: ModelName = setting(
        ..., "Provider and model, as DSPy names them: `openai/gpt-4o-mini`, `ollama_chat/llama3.2`. Required."
    )
    api_base: ApiBase | None = setting(
        None, "The URL of an endpoint other than the provider's own.", repr=False
    )
    api_key: Expanded | None = setting(
        None,
        "The API key, best written as a `${VARIABLE}`. Halflap takes no key from the environment, so a "
        "provider's model needs one here; Ollama, and a server of your own under `api_base`, need none.",
        repr=False,
    )
    timeout: Seconds | None = setting(
        None, "Time limit of one answer in seconds; by default that of the program."
    )
    temperature: Freshness | None = setting(None, "Sampling temperature; by default DSPy's.")
    max_tokens: Count | None = setting(None, "Length limit of an answer; by default DSPy's.")
    adapter: Literal["chat", "json"] = setting(
        "chat",
        "How fields are requested. With an `api_base` of your own, `json` also sends the answer's JSON "
        "Schema (`response_format`), which servers such as llama.cpp enforce.",
    )


class ProgramsConfig(Section):
    """DSPy programs: where they are, their time limit, and the model they use."""

    root: ExpandedPath | None = setting(
        None, "The folder of your DSPy programs. Without it, the ones that ship with Halflap are used."
    )
    watch: Flag = setting(False, "Reload DSPy programs when their files change.")
    timeout_seconds: Seconds = setting(60.0, "Time limit of a DSPy program.")
    cache: CacheFolder = setting(
        None, "Folder of cached answers of the model, or `off`; by default a folder in the data folder."
    )
    lm: LmConfig | None = setting(None, "The language model that DSPy programs use.")


class WorkflowsConfig(Section):
    """Limits of analysing workflows."""

    timeout_seconds: Seconds = setting(
        60.0, "Time limit for optimising, comparing or scoring a workflow for a client."
    )


class UpstreamDefaults(Section):
    """Limits of servers whose entries set none."""

    start_timeout_seconds: Seconds = setting(
        120.0, "How long a server may take to start; a first start with `npx` or `uvx` downloads the package."
    )
    call_timeout_seconds: Seconds = setting(60.0, "How long a call may go without an answer or progress.")
    max_call_timeout_seconds: Seconds = setting(
        600.0, "How long a call may take altogether, whatever progress it reports."
    )
    max_concurrent_calls: Count = setting(16, "How many calls one server gets at the same time.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.call_timeout_seconds > self.max_call_timeout_seconds:
            raise problem(
                "config-timeouts",
                "call_timeout_seconds is greater than max_call_timeout_seconds.",
                "Raise `max_call_timeout_seconds`, too.",
            )
        return self


class ServerEntry(Section):
    """A server as a file describes it: either a `command` that Halflap starts, or the `url` of a running one."""

    instead: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("disabledTools", "excludeTools"), "List them in `tools.block`."),
        **dict.fromkeys(("enabledTools", "includeTools", "tools"), "List them in `tools.allow`."),
        **dict.fromkeys(("sandbox", "sandboxEnabled"), _NO_SANDBOX),
    }
    """What to write instead of keys of other clients that must not be ignored."""

    name: Text | None = setting(None, "The server's name in the list form; elsewhere its key is its name.")
    transport: TransportName | None = setting(
        None, "By default `stdio` with a command; with a URL, streamable HTTP and then SSE."
    )
    type: TransportName | None = setting(None, "Another name for `transport`.")
    command: Command | None = setting(None, "The program to start.")
    args: tuple[MaybeEmpty, ...] = setting((), "Its arguments.")
    env: Environment = setting(
        {}, "Its environment variables.", validation_alias=AliasChoices(*ALIASES["env"])
    )
    env_file: PathText | None = setting(
        None, "A file of `NAME=value` lines; `env` takes precedence over it.", alias="envFile"
    )
    inherit_env: InheritedEnvironment = setting(
        False, "Variables of Halflap's own environment that it also gets: `true` for all, or a list of names."
    )
    cwd: PathText | None = setting(None, "The folder it runs in.")
    url: WebAddress | None = setting(
        None,
        "The address of a server that is already running.",
        validation_alias=AliasChoices(*ALIASES["url"]),
    )
    headers: Headers = setting({}, "Headers of every request.")
    trust_annotations: Flag = setting(False, "Believe what the server says about its tools.")
    disabled: Flag = setting(False, "Don't use the server; its variables are not expanded.")
    enabled: Flag = setting(True, "The opposite of `disabled`.")
    protocol: Protocol = setting("auto", "Which generation of MCP it speaks.")
    start_timeout_seconds: Seconds | None = setting(None, "Overrides `upstream.start_timeout_seconds`.")
    call_timeout_seconds: Seconds | None = setting(None, "Overrides `upstream.call_timeout_seconds`.")
    max_call_timeout_seconds: Seconds | None = setting(None, "Overrides `upstream.max_call_timeout_seconds`.")
    max_concurrent_calls: Count | None = setting(None, "Overrides `upstream.max_concurrent_calls`.")


class TopLevel(Section):
    """Settings outside any section."""

    roots: tuple[Root, ...] = setting(
        (), "Folders, as paths or file:// URIs, for servers that ask for roots."
    )


class ConfigFile(TopLevel):
    """Halflap's configuration file."""

    mcpServers: dict[str, ServerEntry] = setting({}, "Servers by name, as in Claude and Cursor.")  # noqa: N815 -- the clients' own name
    servers: dict[str, ServerEntry] | tuple[ServerEntry, ...] = setting(
        {}, "Servers by name, as in VS Code, or as a list."
    )
    inputs: Any = setting(None, "Ignored; VS Code keeps it next to its servers.")
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
