from functools import partial, reduce
import operator
high = partial(mcp__helpdesk__list_tickets, priority="high")
r = [await high(status=s) for s in ("open", "closed")]
print(reduce(operator.add, (x["total"] for x in r)), list(map(lambda x: len(x["tickets"]), r)))
