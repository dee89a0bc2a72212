from datetime import datetime
name = f"kiln-{datetime.now():%H%M%S%f}"
branches = await mcp__git__git_branch(repo_path=".", branch_type="all")
if name not in branches:
    print((await mcp__git__git_create_branch(repo_path=".", branch_name=name, base_branch="main"))[:7])
print(name in await mcp__git__git_branch(repo_path=".", branch_type="local"))
