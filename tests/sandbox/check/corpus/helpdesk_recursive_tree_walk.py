def walk(node, depth=0):
    print("  " * depth + f"{node['label']} ({node['openTickets']})")
    for c in node["children"]:
        walk(c, depth + 1)

tree = await mcp__helpdesk__category_tree()
walk(tree)
