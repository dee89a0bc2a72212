"""An agent's side of the work, with the model's answers written down: find, look, write, be corrected, run."""

import asyncio

from mcp import Client, StdioServerParameters

HALFLAP = StdioServerParameters(command="halflap", args=["serve", "--config", "servers.yaml"])

FIRST_TRY = """
top = await mcp__sales__sales_top_customers(limit=3)
for customer in top["customers"]:
    print(customer["name"], customer["revenue"])
"""

SECOND_TRY = FIRST_TRY.replace('"revenue"', '"total_revenue"')


async def main() -> None:
    async with Client(HALFLAP) as client:
        found = await client.call_tool("search_tools", {"query": "best customers by revenue", "limit": 1})
        (tool,) = found.structured_content["tools"]
        print("found:", tool["name"])

        known = await client.call_tool("inspect_tool", {"tool_name": tool["name"]})
        print("takes:", list(known.structured_content["inputSchema"]["properties"]))

        for program in (FIRST_TRY, SECOND_TRY):
            answer = await client.call_tool("execute_program", {"code": program})
            print(f"\nfailed: {answer.is_error}")
            print(answer.content[0].text)


asyncio.run(main())
