import asyncio
b, d = await asyncio.gather(mcp__git__git_branch(repo_path=".", branch_type="local"), mcp__git__git_diff_unstaged(repo_path=".", context_lines=0))
names = [x.strip("* ").strip() for x in b.split("\n") if x.strip()]
plus = sum(1 for l in d.splitlines() if l.startswith("+") and not l.startswith("+++"))
print(sorted(names)[:2], plus)
