"""A server with everything the protocol has, in both eras: what the conformance suite asks of a server, and more.

In this process it is `build()`; as a program it serves over HTTP: `features.py PORT`.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import sys
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
KEY = b"features"
MISSING_CAPABILITY = -32021

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Tool = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]


def result(*content: Any, **more: Any) -> types.CallToolResult:
    """Return a result with these blocks; a text is a block."""
    return types.CallToolResult.model_validate({"content": [block(one) for one in content], **more})


def block(content: Any) -> Any:
    return {"type": "text", "text": content} if isinstance(content, str) else content


def form(message: str, properties: dict[str, Any], *required: str) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, most: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=most)
    )


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def ask(context: Context, request: Any, result: Any) -> Any:
    metadata = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(request, result, metadata=metadata)


def signed(value: str) -> str:
    return f"{value}.{hmac.new(KEY, value.encode(), sha256).hexdigest()}"


def opened(state: str | None) -> str:
    value = (state or "").partition(".")[0]
    if state is None or not hmac.compare_digest(state.encode(), signed(value).encode()):
        raise MCPError(types.INVALID_PARAMS, "The state was tampered with.")
    return value


STRING = {"type": "string"}


def takes(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: STRING}, "required": [name]}


NAME = form("What is your name?", {"name": STRING}, "name")
OPTIONS = ["option1", "option2", "option3"]
TITLED = [
    {"const": "value1", "title": "First"},
    {"const": "value2", "title": "Second"},
    {"const": "value3", "title": "Third"},
]
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
RICH_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"$anchor": "addr", "type": "object", "properties": {"street": STRING, "city": STRING}}
    },
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "kind": {"enum": ["home", "work"]},
    },
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "if": {"properties": {"kind": {"const": "work"}}},
    "then": {"properties": {"company": STRING}},
    "else": {},
    "additionalProperties": False,
}


SCHEMAS = {
    "test_sampling": takes("prompt"),
    "test_elicitation": takes("message"),
    "test_update_resource": takes("uri"),
    "json_schema_2020_12_tool": RICH_SCHEMA,
}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri: str, text: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


class Everything:
    """The server's state, and its handlers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bus = InMemorySubscriptionBus()
        self.extra = 0
        self.connections: list[Any] = []
        self.heard: list[tuple[str, Any]] = []
        """What clients said: levels, subscriptions, `_meta` of calls."""

    # Tools

    def tools(self) -> dict[str, Tool]:
        def fixed(*content: Any, **more: Any) -> Tool:
            async def tool(_c: Context, _p: types.CallToolRequestParams) -> Result:
                return result(*content, **more)

            return tool

        def asking(request: types.ElicitRequest) -> Tool:
            async def tool(context: Context, _p: types.CallToolRequestParams) -> Result:
                answer = await ask(context, request, types.ElicitResult)
                return result(
                    f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"
                )

            return tool

        mixed = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
        link = {"type": "resource_link", "uri": "test://linked/7", "name": "linked", "_meta": {"seen": True}}
        linked = {"structuredContent": {"uri": "test://linked/7"}, "_meta": {"vendor/key": [1, None]}}
        return {
            "test_simple_text": fixed("This is a simple text response for testing."),
            "test_image_content": fixed(IMAGE),
            "test_audio_content": fixed({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
            "test_embedded_resource": fixed(
                embedded("test://embedded-resource", "This is an embedded resource content.")
            ),
            "test_multiple_content_types": fixed("Multiple content types test:", IMAGE, mixed),
            "test_resource_link": fixed(link, **linked),
            "test_tool_with_logging": self.logging,
            "test_logging_tool": self.logging,
            "test_error_handling": fixed(
                "This tool intentionally returns an error for testing", isError=True
            ),
            "test_protocol_error": self.protocol_error,
            "test_tool_with_progress": self.progress,
            "test_sampling": self.sampling,
            "test_elicitation": self.elicitation,
            "test_roots": self.roots,
            "test_meta": self.meta,
            "test_elicitation_sep1034_defaults": asking(form("Please review", DEFAULTS)),
            "test_elicitation_sep1330_enums": asking(form("Please choose", ENUMS)),
            "json_schema_2020_12_tool": fixed("ok"),
            "test_missing_capability": self.missing_capability,
            "test_streaming_elicitation": self.input_elicitation,
            "test_trigger_tool_change": self.change("tools"),
            "test_trigger_prompt_change": self.change("prompts"),
            "test_trigger_resource_change": self.change("resources"),
            "test_update_resource": self.update_resource,
            "test_input_required_result_elicitation": self.input_elicitation,
            "test_input_required_result_sampling": self.input_sampling,
            "test_input_required_result_list_roots": self.input_roots,
            "test_input_required_result_request_state": self.input_state,
            "test_input_required_result_tampered_state": self.input_state,
            "test_input_required_result_multiple_inputs": self.input_several,
            "test_input_required_result_multi_round": self.input_rounds,
            "test_input_required_result_capabilities": self.input_capabilities,
        }

    async def logging(self, context: Context, _p: types.CallToolRequestParams) -> Result:
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            if not is_modern(context) or (context.meta or {}).get(types.LOG_LEVEL_META_KEY):
                params = types.LoggingMessageNotificationParams(level="info", data=text, logger="features")
                await context.session.send_notification(
                    types.LoggingMessageNotification(params=params), context.request_id
                )
            await asyncio.sleep(0.05)
        return result("logged")

    async def protocol_error(self, _c: Context, _p: types.CallToolRequestParams) -> Result:
        raise MCPError(-32050, "out of paper", {"tray": 2})

    async def progress(self, context: Context, _p: types.CallToolRequestParams) -> Result:
        for done in (0, 50, 100):
            await context.session.report_progress(done, 100)
            await asyncio.sleep(0.05)
        return result("done")

    async def sampling(self, context: Context, params: types.CallToolRequestParams) -> Result:
        answer = await ask(context, sampling(params.arguments["prompt"]), types.CreateMessageResult)  # type: ignore[index]
        return result(f"LLM response: {getattr(answer.content, 'text', '')}")

    async def elicitation(self, context: Context, params: types.CallToolRequestParams) -> Result:
        properties = {"username": STRING, "email": STRING}
        request = form(params.arguments["message"], properties, "username", "email")  # type: ignore[index]
        answer = await ask(context, request, types.ElicitResult)
        return result(f"User response: action={answer.action}, content={json.dumps(answer.content)}")

    async def roots(self, context: Context, _p: types.CallToolRequestParams) -> Result:
        answer = await ask(context, types.ListRootsRequest(), types.ListRootsResult)
        return result(json.dumps([str(root.uri) for root in answer.roots]))

    async def meta(self, context: Context, _p: types.CallToolRequestParams) -> Result:
        return result(json.dumps(dict(context.meta or {}), default=str))

    async def missing_capability(self, context: Context, _p: types.CallToolRequestParams) -> Result:
        declared = context.session.client_capabilities
        if declared is None or declared.sampling is None:
            data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_CAPABILITY, "This needs the client's sampling.", data)
        return result("ok")

    def change(self, what: str) -> Tool:
        async def tool(_c: Context, _p: types.CallToolRequestParams) -> Result:
            self.extra += 1
            events: dict[str, Any] = {
                "tools": ToolsListChanged,
                "prompts": PromptsListChanged,
                "resources": ResourcesListChanged,
            }
            await self.bus.publish(events[what]())
            for session in self.connections:
                await {
                    "tools": session.send_tool_list_changed,
                    "prompts": session.send_prompt_list_changed,
                    "resources": session.send_resource_list_changed,
                }[what]()
            return result("changed")

        return tool

    async def update_resource(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        uri = str((params.arguments or {})["uri"])
        await self.bus.publish(ResourceUpdated(uri))
        for session in self.connections:
            await session.send_resource_updated(uri)
        return result("updated")

    # Tools that ask by their result

    async def input_elicitation(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        answer = (params.input_responses or {}).get("user_name")
        if not isinstance(answer, types.ElicitResult):
            return types.InputRequiredResult(input_requests={"user_name": NAME})
        return result(f"Hello, {(answer.content or {}).get('name')}!")

    async def input_sampling(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        answer: Any = (params.input_responses or {}).get("capital_question")
        if answer is None:
            question = sampling("What is the capital of France?")
            return types.InputRequiredResult(input_requests={"capital_question": question})
        return result(answer.content.text)

    async def input_roots(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        answer: Any = (params.input_responses or {}).get("client_roots")
        if answer is None:
            return types.InputRequiredResult(input_requests={"client_roots": types.ListRootsRequest()})
        return result(json.dumps([str(root.uri) for root in answer.roots]))

    async def input_state(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        if not params.input_responses:
            request = form("Please confirm", {"ok": {"type": "boolean"}}, "ok")
            return types.InputRequiredResult(input_requests={"confirm": request}, request_state=signed("one"))
        opened(params.request_state)
        return result("state-ok")

    async def input_several(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        requests: dict[str, Any] = {
            "user_name": NAME,
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": types.ListRootsRequest(),
        }
        if not requests.keys() <= (params.input_responses or {}).keys():
            return types.InputRequiredResult(input_requests=requests, request_state=signed("several"))
        opened(params.request_state)
        return result("all there")

    async def input_rounds(self, _c: Context, params: types.CallToolRequestParams) -> Result:
        answers = params.input_responses or {}
        if "step2" in answers:
            return result(f"done after {opened(params.request_state)}")
        if "step1" in answers:
            opened(params.request_state)
            request = form("Step 2: What is your favorite color?", {"color": STRING}, "color")
            return types.InputRequiredResult(input_requests={"step2": request}, request_state=signed("two"))
        request = form("Step 1: What is your name?", {"name": STRING}, "name")
        return types.InputRequiredResult(input_requests={"step1": request}, request_state=signed("one"))

    async def input_capabilities(self, context: Context, params: types.CallToolRequestParams) -> Result:
        if params.input_responses:
            return result("ok")
        declared = context.session.client_capabilities or types.ClientCapabilities()
        requests: dict[str, Any] = {}
        if declared.sampling is not None:
            requests["sample"] = sampling("Say something")
        if declared.elicitation is not None:
            requests["ask"] = NAME
        return types.InputRequiredResult(input_requests=requests) if requests else result("nothing to ask")

    # Handlers

    async def list_tools(self, _c: Context, _p: Any) -> types.ListToolsResult:
        icons = [{"src": "data:image/png;base64," + PNG, "mimeType": "image/png"}]
        tools = [
            {
                "name": name,
                "description": f"Tool {name}.",
                "inputSchema": SCHEMAS.get(name, {"type": "object"}),
                "icons": icons,
            }
            for name in self.tools()
        ]
        if self.extra:
            tools.append({**tools[0], "name": f"extra_{self.extra}"})
        return types.ListToolsResult.model_validate({"tools": tools})

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Result:
        found = self.tools().get(params.name)
        if found is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await found(context, params)

    async def list_resources(self, _c: Context, _p: Any) -> types.ListResourcesResult:
        described = [
            ("test://static-text", "text/plain"),
            ("test://static-binary", "image/png"),
            ("test://watched-resource", "text/plain"),
            (f"test://{self.name}/own", "text/plain"),
        ]
        if self.extra:
            described.append((f"test://extra/{self.extra}", "text/plain"))
        resources = [
            {"uri": uri, "name": uri.rpartition("/")[2], "description": f"At {uri}", "mimeType": kind}
            for uri, kind in described
        ]
        return types.ListResourcesResult.model_validate({"resources": resources})

    async def list_templates(self, _c: Context, _p: Any) -> types.ListResourceTemplatesResult:
        template = {
            "uriTemplate": "test://template/{id}/data",
            "name": "template",
            "mimeType": "application/json",
        }
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": [template]})

    async def read_resource(
        self, _c: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        identifier = uri.removeprefix("test://template/").removesuffix("/data")
        texts = {
            "test://static-text": "This is the content of the static text resource.",
            "test://watched-resource": "watched",
            f"test://{self.name}/own": f"only of {self.name}",
            "test://linked/7": f"linked from {self.name}",
            f"test://template/{identifier}/data": json.dumps(
                {"id": identifier, "templateTest": True, "data": f"Data for ID: {identifier}"}
            ),
        }
        if uri == "test://static-binary":
            contents = {"uri": uri, "mimeType": "image/png", "blob": PNG}
        elif uri in texts:
            contents = {"uri": uri, "mimeType": "text/plain", "text": texts[uri]}
        else:
            raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
        return types.ReadResourceResult.model_validate({"contents": [contents]})

    async def subscribe(self, _c: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self.heard.append(("subscribe", str(params.uri)))
        return types.EmptyResult()

    async def unsubscribe(self, _c: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self.heard.append(("unsubscribe", str(params.uri)))
        return types.EmptyResult()

    async def list_prompts(self, _c: Context, _p: Any) -> types.ListPromptsResult:
        described: dict[str, tuple[str, ...]] = {
            "test_simple_prompt": (),
            "test_prompt_with_arguments": ("arg1", "arg2"),
            "test_prompt_with_embedded_resource": ("resourceUri",),
            "test_prompt_with_image": (),
            "test_input_required_result_prompt": (),
        }
        if self.extra:
            described[f"extra_{self.extra}"] = ()
        prompts = [
            {
                "name": name,
                "description": f"Prompt {name}.",
                "arguments": [{"name": one, "required": True} for one in arguments],
            }
            for name, arguments in described.items()
        ]
        return types.ListPromptsResult.model_validate({"prompts": prompts})

    async def get_prompt(
        self, _c: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        given = params.arguments or {}
        contents: list[Any]
        if params.name == "test_input_required_result_prompt":
            answer = (params.input_responses or {}).get("user_context")
            if not isinstance(answer, types.ElicitResult):
                request = form("What context should the prompt use?", {"context": STRING}, "context")
                return types.InputRequiredResult(input_requests={"user_context": request})
            contents = [f"Context: {(answer.content or {}).get('context')}"]
        elif params.name == "test_simple_prompt":
            contents = ["This is a simple prompt for testing."]
        elif params.name == "test_prompt_with_arguments":
            contents = [f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"]
        elif params.name == "test_prompt_with_embedded_resource":
            resource = embedded(given["resourceUri"], "Embedded resource content for testing.")
            contents = [resource, "Please process the embedded resource above."]
        elif params.name == "test_prompt_with_image":
            contents = [IMAGE, "Please analyze the image above."]
        else:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        messages = [{"role": "user", "content": block(content)} for content in contents]
        return types.GetPromptResult.model_validate({"messages": messages})

    async def complete(self, _c: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
        return types.CompleteResult(
            completion=types.Completion(values=words, total=len(words), has_more=False)
        )

    async def set_level(self, _c: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self.heard.append(("level", params.level))
        return types.EmptyResult()

    async def initialized(self, context: Context, _p: Any) -> None:
        self.connections.append(context.session)


class _Server(Server[Any]):
    legacy = False
    """Whether it speaks the older era only."""

    async def run(self, read_stream: Any, write_stream: Any, *arguments: Any, **options: Any) -> None:
        if not self.legacy:
            await super().run(read_stream, write_stream, *arguments, **options)
            return
        async with self.lifespan(self) as state:
            await serve_loop(self, read_stream, write_stream, lifespan_state=state)

    def get_capabilities(self, *_: Any, **options: Any) -> types.ServerCapabilities:
        announced = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().get_capabilities(announced, **options)


def build(name: str = "features", *, legacy: bool = False) -> tuple[Server[Any], Everything]:
    """Return a server and its state."""
    state = Everything(name)
    server = _Server(
        name,
        version="1.0",
        title="All features",
        instructions="Use everything.",
        on_list_tools=state.list_tools,
        on_call_tool=state.call_tool,
        on_list_resources=state.list_resources,
        on_list_resource_templates=state.list_templates,
        on_read_resource=state.read_resource,
        on_subscribe_resource=state.subscribe,
        on_unsubscribe_resource=state.unsubscribe,
        on_subscriptions_listen=ListenHandler(state.bus),
        on_list_prompts=state.list_prompts,
        on_get_prompt=state.get_prompt,
        on_completion=state.complete,
    )
    server.legacy = legacy
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, state.set_level)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, state.initialized)
    return server, state


if __name__ == "__main__":
    from echo import serve_web  # type: ignore[import-not-found]

    serve_web(build()[0].streamable_http_app(), int(sys.argv[1]), "/mcp")
