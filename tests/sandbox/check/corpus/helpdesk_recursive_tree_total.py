def total(n): return n["openTickets"] + sum(total(c) for c in n["children"])
def leaves(n): return [n["slug"]] if not n["children"] else [s for c in n["children"] for s in leaves(c)]
root = await mcp__helpdesk__category_tree(depth=3)
print(total(root), leaves(root), root["children"][0]["children"][1]["children"][0]["slug"])
