order = {"LAMP-1": 2, "CHAIR-2": 1}
q = await mcp__helpdesk__quote(items=[{"sku": s, "quantity": n} for s, n in order.items()], currency="USD", discount_percent=5)
for l in q["lines"]:
    print(f"{l['sku']:<10}{l['quantity']:>3}{l['unitPrice']:>10.2f}{l['lineTotal']:>10.2f}")
print(q["total"], q["currency"], "valid for", q["validDays"], "days")
