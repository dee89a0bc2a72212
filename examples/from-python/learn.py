"""Use a tool that does not say what it returns, and then ask Halflap what it returns."""

import asyncio

from halflap import Gateway

SEARCH = "mcp__documents__search_docs"
PROGRAM = f"""
for query in ("refunds", "travel", "customers", "roadmap"):
    hits = await {SEARCH}(query=query)
    print(query, [hit["doc_id"] for hit in hits])
"""


async def main() -> None:
    async with Gateway.open("servers.yaml") as gateway:
        print("before:", (await gateway.get_schema(SEARCH)).format_compact())

        result = await gateway.call(SEARCH, query="refunds", limit=1)
        print("one call:", result.text)

        execution = await gateway.execute(PROGRAM)
        print(execution.output, end="")
        print(f"{len(execution.calls)} calls, ok: {execution.ok}")

    # What passed is in the store when the gateway is closed; another one starts with it.
    async with Gateway.open("servers.yaml") as gateway:
        schema = await gateway.get_schema(SEARCH)
        print("after:", schema.format_compact())
        print("declared:", schema.output_schema)


asyncio.run(main())
