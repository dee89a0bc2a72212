list = (await mcp__helpdesk__list_tickets(limit=3))["tickets"]
id = list[0]["id"]
type = list[0]["customer"]["plan"]
sum = 0
for input in list:
    sum += input["id"] - id
print(id, type, sum)
