import json
tree = json.loads((await mcp__files__directory_tree(path="."))["content"])
def files(nodes, pre=""):
    for n in nodes:
        if n["type"] == "directory":
            yield from files(n.get("children", []), pre + n["name"] + "/")
        else:
            yield pre + n["name"]
print(sorted(f for f in files(tree) if f.endswith((".md", ".csv"))))
