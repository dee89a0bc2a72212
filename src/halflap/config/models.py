"""Every setting with its type, default and documentation.

Files are validated with these models; the tables of docs/configuration.md and the JSON Schema are generated from them.
`ConfigFile` is the whole file. The types of the values are in `validators`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from halflap.config.reader import problem
from halflap.config.validators import (
    ApiBase,
    CacheFolder,
    Command,
    Count,
    DatabaseUrl,
    Environment,
    FilePath,
    Flag,
    Freshness,
    Headers,
    InheritedEnvironment,
    ModelName,
    Pattern,
    Port,
    Root,
    Seconds,
    Text,
    Token,
    TokenHash,
    TransportName,
    WebAddress,
)

Protocol = Literal["auto", "legacy", "modern"]
Record = Literal["full", "metadata", "off"]
Family = Literal["core", "dspy", "gepa"]
Severity = Literal["error", "warning", "info"]
_NO_SANDBOX = "Halflap does not confine servers; remove it if you accept that."


def setting(default: Any, description: str, **more: Any) -> Any:
    return Field(default, description=description, **more)


class Section(BaseModel):
    """A group of settings. Its validator is built on first use, to keep startup quick."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)
    exclusive: ClassVar[frozenset[str]] = frozenset()
    """Two settings of which only one may be set."""

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if self.exclusive and self.exclusive <= self.model_fields_set:
            one, other = sorted(self.exclusive)
            raise problem(
                "config-exclusive", f"can't have both `{one}` and `{other}`.", "Keep one.", at=other
            )
        return self


class FrontConfig(Section):
    """What clients see of Halflap itself."""

    families: tuple[Family, ...] = setting(
        (),
        "Families of Halflap's own tools that clients see; by default `core`, and `dspy` if `programs.lm` is set.",
    )
    expose: tuple[Pattern, ...] = setting((), "Tools of servers that clients also see directly.")
    expose_tokens: Count = setting(10_000, "Token limit for their definitions, at four bytes per token.")


class ToolsConfig(Section):
    """Which tools may be called, and what they do."""

    exclusive = frozenset({"allow", "block"})

    allow: tuple[Pattern, ...] | None = setting(
        None, "Only these tools can be called; excludes `tools.block`."
    )
    block: tuple[Pattern, ...] = setting((), "These tools can't be called; excludes `tools.allow`.")
    read_only: tuple[Pattern, ...] = setting((), "These tools change nothing, whatever their server says.")
    destructive: tuple[Pattern, ...] = setting(
        (), "These tools destroy something, whatever their server says."
    )
    pin: Literal["off", "warn", "hold"] = setting(
        "warn", "What a changed definition does; `hold` blocks the tool until you accept it."
    )


class ExecutionConfig(Section):
    """Where programs run, what they may call, and their limits."""

    sandbox: Literal["auto", "jail", "hardened", "monty", "off"] = setting(
        "auto",
        "Where programs run: `jail` (Linux), `hardened` (the jail with every layer, or nothing), `monty`, or nowhere.",
    )
    check: Literal["on", "hints", "off"] = setting(
        "on",
        "The check before a run: refuse programs with certain mistakes, only explain failures, or don't check.",
    )
    modules: tuple[Text, ...] = setting(
        (), "Installed modules that programs can import, besides Python's own."
    )
    read_only: Flag = setting(False, "Programs can only call tools that are known to change nothing.")
    confirm_destructive: Flag = setting(False, "Ask the user before a program calls destructive tools.")
    timeout_seconds: Seconds = setting(120.0, "Time limit of a program.")
    cpu_seconds: Count = setting(60, "CPU time limit of a program.")
    max_memory_mb: Count = setting(512, "Memory limit of a program, in MiB.")
    max_output_bytes: Count = setting(65_536, "How much output goes back to the model.")
    max_kept_output_bytes: Count = setting(16_777_216, "How much a program may print before it is stopped.")
    max_shown: Count = setting(20, "How many images and audio clips a program may show the model.")
    max_shown_bytes: Count = setting(8_388_608, "The limit of their total size, as base64.")
    max_calls: Count = setting(1_000, "How many calls a program may make.")
    max_concurrent_calls: Count = setting(16, "How many of its calls may be in flight; further ones wait.")
    max_value_bytes: Count = setting(8_388_608, "Size limit for a call's arguments, and for its result.")
    max_programs: Count = setting(8, "How many programs may run at the same time; further ones wait.")
    max_wait_seconds: Seconds = setting(15.0, "How long a program may wait before it is refused as `busy`.")


class TtlConfig(Section):
    """How long cached definitions of tools are considered fresh."""

    list_seconds: Freshness = setting(300.0, "How long a server's list of tools stays fresh.")
    schema_seconds: Freshness = setting(3600.0, "How long a tool's schemas stay fresh.")
    per_tool: dict[str, Freshness] = setting({}, "`ttl.schema_seconds` for tools that match a glob.")


class StoreConfig(Section):
    """Where the store is; by default a SQLite file in the data folder."""

    exclusive = frozenset({"path", "url"})

    path: FilePath | None = setting(None, "The SQLite file of the store; excludes `store.url`.")
    url: DatabaseUrl | None = setting(None, "A PostgreSQL database; excludes `store.path`.", repr=False)


class TracesConfig(Section):
    """What is recorded of runs and calls, and for how long."""

    record: Record = setting(
        "full", "What is recorded; `metadata` omits code, arguments, results and output."
    )
    per_tool: dict[Pattern, Record] = setting({}, "`traces.record` for calls of tools that match a glob.")
    keep_days: Seconds = setting(30.0, "How long runs and calls are kept.")
    keep_mb: Seconds = setting(512.0, "Size limit in megabytes; the oldest are deleted first.")
    required: Flag = setting(False, "Refuse calls and programs that can't be recorded (`record-failed`).")
    max_value_bytes: Count = setting(1_048_576, "How much is kept of a call's arguments, and of its result.")


class LearningConfig(Section):
    """Whether Halflap learns from results."""

    enabled: Flag = setting(True, "Learn from results what tools return, and show it.")
    values: Flag = setting(False, "Also learn short texts that repeat in results, as enumerations.")


class GraphConfig(Section):
    """What links between tools are based on."""

    lineage: Flag = setting(True, "Track values from results to later calls, to find links between tools.")


class LintIgnore(Section):
    """Findings to ignore, and why."""

    rule: Text = setting(..., "A rule, or a glob such as `date-*`.")
    reason: Text = setting(..., "Why these findings are ignored.")
    tools: Pattern = setting("*", "The name of a tool, or a glob.")


class LintConfig(Section):
    """How strict the linter is, and about what."""

    off: tuple[Text, ...] = setting((), "Rules that `halflap lint` does not apply.")
    severity: dict[Text, Severity] = setting({}, "Severities that affect the score and the exit code.")
    ignore: tuple[LintIgnore, ...] = setting((), "Findings to ignore, by `rule`, `tools` and `reason`.")
    fail_on: Literal["error", "warning", "info", "never"] = setting(
        "error", "From this severity on, the exit code is 1."
    )
    max_name_length: Count = setting(64, "How many characters the name of a tool may have.")
    max_description_bytes: Count = setting(2_048, "How many bytes the description of a tool may have.")


class Profile(Section):
    """What someone may use; everything else does not exist for them. By default, they may use everything."""

    servers: tuple[Text, ...] = setting(
        ("*",),
        "Names of servers, or globs. Saved scripts and DSPy programs are the servers `script` and `dspy`.",
    )
    tools: tuple[Pattern, ...] = setting(("*",), "Names of tools, prompts and resources, or globs.")
    read_only: Flag = setting(False, "Only tools that are known to change nothing.")
    metrics: Flag = setting(False, "Whether they may read `/metrics`, which covers every server.")
    max_programs: Count | None = setting(None, "Programs of one person at the same time, at most.")
    timeout_seconds: Seconds | None = setting(None, "A lower `execution.timeout_seconds`.")
    max_calls: Count | None = setting(None, "A lower `execution.max_calls`.")

    def applied_to(self, execution: ExecutionConfig) -> ExecutionConfig:
        """Return the limits of programs within this profile."""
        own = {"timeout_seconds": self.timeout_seconds, "max_calls": self.max_calls}
        lowered = {key: min(one, getattr(execution, key)) for key, one in own.items() if one is not None}
        return execution.model_copy(update=lowered)


def token_hash(token: str | bytes) -> str:
    """Return the stored hash of a token; tokens are long and random, so a fast hash is enough."""
    return f"sha256:{sha256(token if isinstance(token, bytes) else token.encode()).hexdigest()}"


class TokenEntry(Section):
    """A person's token or its hash, and their profile."""

    exclusive = frozenset({"hash", "token"})

    hash: TokenHash | None = setting(None, "The token's hash, as `halflap token add` writes it.", repr=False)
    token: Token | None = setting(None, "The token itself, best written as a `${VARIABLE}`.", repr=False)
    profile: Text | None = setting(None, "Their profile; without one, they may use everything.")

    @model_validator(mode="after")
    def _has_token(self) -> Self:
        if self.hash is None and self.token is None:
            raise problem("config-wrong-value", "has no token.", "Make one with `halflap token add`.")
        return self

    @property
    def digest(self) -> str:
        return self.hash or token_hash(self.token or "")


def _token_alone(value: Any) -> Any:
    return {"token": value} if isinstance(value, str) else value


def _different(tokens: dict[str, TokenEntry]) -> dict[str, TokenEntry]:
    if len({one.digest for one in tokens.values()}) < len(tokens):
        raise problem("config-wrong-value", "has the same token for two people.")
    return tokens


_Entry = Annotated[TokenEntry, BeforeValidator(_token_alone, json_schema_input_type=Token | TokenEntry)]


class HttpConfig(Section):
    """Who may use Halflap over HTTP."""

    allowed_hosts: tuple[Text, ...] = setting((), "Further accepted values of the `Host` header.")
    allowed_origins: tuple[Text, ...] = setting((), "Further accepted values of the `Origin` header.")
    tokens: Annotated[dict[str, _Entry], AfterValidator(_different)] = setting(
        {}, "Each person's token and profile, by name, instead of one token for everyone.", repr=False
    )
    audit: Flag = setting(True, "Log all requests to `audit.jsonl` in the data folder, refused ones too.")


class WebConfig(Section):
    """The web page that is served with `halflap serve --http` and `halflap web`."""

    enabled: Flag = setting(True, "Serve the page.")
    remote: Flag = setting(False, "Serve it also to other machines, and for `http.allowed_hosts`.")
    allow_calls: Flag = setting(False, "Allow calling tools and running programs from the page.")


class LmConfig(Section):
    """The language model of DSPy programs."""

    model: ModelName = setting(..., "Required: provider and model, such as `openai/gpt-4o-mini`.")
    api_base: ApiBase | None = setting(None, "The URL of an endpoint other than the provider's.", repr=False)
    api_key: Text | None = setting(
        None, "The API key, best written as a `${VARIABLE}`; none is taken from the environment.", repr=False
    )
    timeout: Seconds | None = setting(None, "Seconds for one answer; by default the program's time limit.")
    temperature: Freshness | None = setting(None, "Sampling temperature; by default DSPy's.")
    max_tokens: Count | None = setting(None, "Length limit of an answer; by default DSPy's.")
    adapter: Literal["chat", "json"] = setting(
        "chat",
        "How fields are requested. With an `api_base`, `json` also sends a JSON Schema (`response_format`).",
    )


class ProgramsConfig(Section):
    """DSPy programs: their folder, time limit and model."""

    root: FilePath | None = setting(None, "The folder of your DSPy programs; by default bundled examples.")
    timeout_seconds: Seconds = setting(60.0, "Time limit of a DSPy program.")
    cache: CacheFolder = setting(None, "Folder of cached answers, or `off`; by default in the data folder.")
    lm: LmConfig | None = setting(None, "The language model that DSPy programs use.")


class WorkflowsConfig(Section):
    """Limits of analysing workflows."""

    timeout_seconds: Seconds = setting(60.0, "Time limit for analysing a workflow for a client.")


class UpstreamDefaults(Section):
    """Limits of servers whose entries set none."""

    start_timeout_seconds: Seconds = setting(
        120.0, "How long a server may take to start, including downloads."
    )
    call_timeout_seconds: Seconds = setting(60.0, "How long a call may take without reporting progress.")
    max_call_timeout_seconds: Seconds = setting(600.0, "How long a call may take in total.")
    max_concurrent_calls: Count = setting(16, "How many calls a server gets at the same time.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.call_timeout_seconds > self.max_call_timeout_seconds:
            raise problem(
                "config-timeouts",
                "has a `call_timeout_seconds` greater than `max_call_timeout_seconds`.",
                "Raise the latter as well.",
            )
        return self


class OAuthConfig(Section):
    """How to sign in to a server, where the server itself does not say."""

    client_id: Text | None = setting(
        None,
        "The client id, if Halflap was registered at the authorization server by hand.",
        validation_alias=AliasChoices("client_id", "clientId"),
    )
    client_secret: Text | None = setting(
        None, "The client secret.", validation_alias=AliasChoices("client_secret", "clientSecret")
    )
    issuer: WebAddress | None = setting(None, "The only authorization server that gets the id and secret.")
    client_metadata_url: WebAddress | None = setting(
        None, "The https URL of a client metadata document, used as the client id where servers accept that."
    )
    scopes: tuple[Text, ...] = setting((), "Scopes to request; by default those that the server names.")
    grant: Literal["authorization_code", "client_credentials"] = setting(
        "authorization_code", "Who signs in: a person, or Halflap itself with id and secret."
    )
    callback_port: Port | None = setting(
        None,
        "The local port that the browser returns to; by default a free one.",
        validation_alias=AliasChoices("callback_port", "callbackPort"),
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = ("client_id", "client_secret", "issuer") if self.grant == "client_credentials" else ()
        missing = [name for name in needed if getattr(self, name) is None]
        if missing:
            message = f"has `grant: client_credentials`, which needs `{missing[0]}`."
            raise problem("config-server-incomplete", message, at="grant")
        return self


class ServerEntry(Section):
    """A server in a file: a `command` that Halflap starts, or the `url` of a running server."""

    instead: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("disabledTools", "excludeTools"), "List them in `tools.block`."),
        **dict.fromkeys(("enabledTools", "includeTools", "tools"), "List them in `tools.allow`."),
        **dict.fromkeys(("sandbox", "sandboxEnabled"), _NO_SANDBOX),
    }
    """Advice for keys of other clients that must not be ignored."""

    name: Text | None = setting(None, "The server's name, only in the list form.")
    transport: TransportName | None = setting(
        None,
        "By default `stdio` for a command; for a URL, streamable HTTP with a fallback to SSE. Alias: `type`.",
        validation_alias=AliasChoices("transport", "type"),
    )
    command: Command | None = setting(None, "The program to start.")
    args: tuple[str, ...] = setting((), "Its arguments.")
    env: Environment = setting(
        {}, "Its environment variables.", validation_alias=AliasChoices("env", "environment")
    )
    env_file: FilePath | None = setting(
        None, "A file of `NAME=value` lines; `env` takes precedence.", alias="envFile"
    )
    inherit_env: InheritedEnvironment = setting(
        False, "Further variables of Halflap's environment to pass on: a list of names, or `true` for all."
    )
    cwd: FilePath | None = setting(None, "The folder it runs in.")
    url: WebAddress | None = setting(
        None,
        "The URL of a server that is already running.",
        validation_alias=AliasChoices("url", "serverUrl", "httpUrl"),
    )
    headers: Headers = setting({}, "Headers sent with every request.")
    oauth: OAuthConfig = setting(OAuthConfig.model_construct(), "How to sign in, for `halflap login`.")
    trust_annotations: Flag = setting(False, "Trust the server's `readOnlyHint` and `idempotentHint`.")
    resources: Flag = setting(True, "Offer its resources to clients.")
    prompts: Flag = setting(True, "Offer its prompts to clients.")
    questions: Flag = setting(
        True, "Pass its requests during a call (elicitation, sampling, roots) and log messages on to clients."
    )
    disabled: Flag = setting(False, "Don't use the server. Its variables are not expanded.")
    enabled: Flag = setting(True, "The opposite of `disabled`.")
    protocol: Protocol = setting("auto", "Which generation of MCP it speaks.")
    start_timeout_seconds: Seconds | None = setting(None, "Overrides `upstream.start_timeout_seconds`.")
    call_timeout_seconds: Seconds | None = setting(None, "Overrides `upstream.call_timeout_seconds`.")
    max_call_timeout_seconds: Seconds | None = setting(None, "Overrides `upstream.max_call_timeout_seconds`.")
    max_concurrent_calls: Count | None = setting(None, "Overrides `upstream.max_concurrent_calls`.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        transport = self.transport
        advice = "Keep `command` to start a program, or `url` for a running server."
        if self.command is not None and self.url is not None:
            raise problem("config-exclusive", "has both `command` and `url`.", advice, at="url")
        if self.command is None and self.url is None:
            raise problem("config-server-incomplete", "has neither `command` nor `url`.")
        if self.url is not None and transport == "stdio":
            message = "has a `url`, so its transport can't be stdio."
            raise problem("config-transport", message, "Write `http`.", at="url")
        if self.command is not None and transport in {"http", "sse"}:
            message = f"has a `command`, so its transport can't be {transport}."
            raise problem("config-transport", message, at="command")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The sections of the configuration."""

    server: FrontConfig = field(default_factory=FrontConfig.model_construct)
    tools: ToolsConfig = field(default_factory=ToolsConfig.model_construct)
    execution: ExecutionConfig = field(default_factory=ExecutionConfig.model_construct)
    ttl: TtlConfig = field(default_factory=TtlConfig.model_construct)
    store: StoreConfig = field(default_factory=StoreConfig.model_construct)
    traces: TracesConfig = field(default_factory=TracesConfig.model_construct)
    learning: LearningConfig = field(default_factory=LearningConfig.model_construct)
    graph: GraphConfig = field(default_factory=GraphConfig.model_construct)
    lint: LintConfig = field(default_factory=LintConfig.model_construct)
    http: HttpConfig = field(default_factory=HttpConfig.model_construct)
    web: WebConfig = field(default_factory=WebConfig.model_construct)
    programs: ProgramsConfig = field(default_factory=ProgramsConfig.model_construct)
    workflows: WorkflowsConfig = field(default_factory=WorkflowsConfig.model_construct)
    upstream: UpstreamDefaults = field(default_factory=UpstreamDefaults.model_construct)


SECTIONS: Mapping[str, type[Section]] = {one.name: one.type for one in fields(Settings)}  # type: ignore[misc]  # not text


class TopLevel(Section):
    """Settings outside any section."""

    roots: tuple[Root, ...] = setting((), "Folders that servers get as roots, as paths or file:// URIs.")
    profiles: dict[Text, Profile] = setting({}, "Profiles for `http.tokens` and `halflap serve --profile`.")


class _Servers(TopLevel):
    mcpServers: dict[str, ServerEntry] = setting({}, "Servers by name, as in Claude and Cursor.")  # noqa: N815 -- the clients' own name
    servers: dict[str, ServerEntry] | tuple[ServerEntry, ...] = setting(
        {}, "Servers, as in VS Code or as a list."
    )
    inputs: Any = setting(None, "Ignored; part of VS Code's files.")


_SECTION_FIELDS: Any = {name: (model, model.model_construct()) for name, model in SECTIONS.items()}
ConfigFile = create_model(
    "ConfigFile", __base__=_Servers, __doc__="Halflap's configuration file.", **_SECTION_FIELDS
)
