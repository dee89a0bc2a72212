tools = {"people": mcp__helpdesk__list_people, "skus": mcp__helpdesk__list_skus, "tree": mcp__helpdesk__category_tree}
for name, tool in tools.items():
    r = await tool()
    print(name, type(r).__name__, len(r))
