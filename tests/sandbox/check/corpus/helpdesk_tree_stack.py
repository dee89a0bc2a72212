stack, paths = [(await mcp__helpdesk__category_tree(), [])], {}
while stack:
    node, path = stack.pop()
    path = path + [node["slug"]]
    paths["/".join(path)] = node["openTickets"]
    stack += [(c, path) for c in node["children"]]
for k in sorted(paths): print(k, paths[k])
