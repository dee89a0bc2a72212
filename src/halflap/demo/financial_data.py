"""Financial statements of six fictional companies: a server whose output schema is an array.

Every row has the declared fields; cash-flow and balance rows have more. The numbers are consistent: quarters add up to
years, assets are liabilities plus equity, and cash changes by the cash flow.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halflap.demo._serving import DemoServer, RefusedError, ServedTool

MILLION = 1_000_000
QUARTER_ENDS = ("03-31", "06-30", "09-30", "12-31")
FIRST_YEAR = 2019
INCOME = ("revenue", "netIncome", "operatingIncome")
CASH_FLOW = ("operatingCashFlow", "capitalExpenditure", "freeCashFlow", "dividendsPaid", "netChangeInCash")
BALANCE = ("cash", "totalAssets", "totalLiabilities", "totalEquity")
STATEMENTS = {"income": (), "balance": BALANCE, "cashflow": CASH_FLOW}


@dataclass(frozen=True)
class Company:
    name: str
    years: Sequence[Sequence[int]]
    """Revenue, operating income and net income of each year from FIRST_YEAR on, in millions."""
    seasons: Sequence[int]
    """Percent of a year's amounts in each quarter."""
    opening_cash: int
    opening_equity: int
    payables: int
    """Liabilities as percent of a year's revenue."""
    depreciation: int
    """Percent of revenue, like the next."""
    investment: int
    payout: int
    """Percent of a profit that is paid out as dividends."""


_DATA = json.loads(Path(__file__).with_name("companies.json").read_text(encoding="utf-8"))
COMPANIES = {ticker: Company(**one) for ticker, one in _DATA.items()}


def query_financials(
    ticker: str, statement: str, period: str = "annual", limit: int = 4
) -> list[dict[str, Any]]:
    company = COMPANIES.get(ticker.upper())
    if company is None:
        raise RefusedError(f"Unknown ticker: {ticker}. Known tickers: {', '.join(COMPANIES)}.")
    rows = list(_quarters(company))
    if period == "annual":
        rows = [_year(rows[at : at + 4]) for at in range(0, len(rows), 4)]
    keys = (*INCOME, "period", "date", *STATEMENTS[statement])
    return [{key: row[key] for key in keys} for row in rows[::-1][:limit]]


def _quarters(company: Company) -> Iterator[dict[str, Any]]:
    cash, equity = company.opening_cash * MILLION, company.opening_equity * MILLION
    for year, amounts in enumerate(company.years, start=FIRST_YEAR):
        for quarter, end in enumerate(QUARTER_ENDS):
            revenue, operating_income, net_income = (
                _share(amount * MILLION, company.seasons, quarter) for amount in amounts
            )
            earned = net_income + revenue * company.depreciation // 100
            invested = revenue * company.investment // 100
            dividends = max(net_income, 0) * company.payout // 100
            liabilities = amounts[0] * MILLION * company.payables // 100
            cash += earned - invested - dividends
            equity += net_income - dividends
            yield {
                "revenue": revenue,
                "netIncome": net_income,
                "operatingIncome": operating_income,
                "period": f"{year}-Q{quarter + 1}",
                "date": f"{year}-{end}",
                "operatingCashFlow": earned,
                "capitalExpenditure": invested,
                "freeCashFlow": earned - invested,
                "dividendsPaid": dividends,
                "netChangeInCash": earned - invested - dividends,
                "cash": cash,
                "totalAssets": equity + liabilities,
                "totalLiabilities": liabilities,
                "totalEquity": equity,
            }


def _share(amount: int, seasons: Sequence[int], quarter: int) -> int:
    return amount * sum(seasons[: quarter + 1]) // 100 - amount * sum(seasons[:quarter]) // 100


def _year(quarters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    last = quarters[-1]
    sums = {key: sum(one[key] for one in quarters) for key in (*INCOME, *CASH_FLOW)}
    return {**last, **sums, "period": f"FY{last['date'][:4]}"}


OUTPUT_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "revenue": {"type": "number"},
            "netIncome": {"type": "number"},
            "operatingIncome": {"type": "number"},
            "period": {"type": "string"},
            "date": {"type": "string", "format": "date"},
        },
    },
}
TOOLS = [
    ServedTool(
        name="query_financials",
        description="Fetch income/balance/cashflow statements for a ticker.",
        input_schema={
            "type": "object",
            "properties": {
                "ticker": {"type": "string"},
                "statement": {"type": "string", "enum": list(STATEMENTS)},
                "period": {"type": "string", "enum": ["annual", "quarter"]},
                "limit": {"type": "integer"},
            },
            "required": ["ticker", "statement"],
        },
        output_schema=OUTPUT_SCHEMA,
        answer=query_financials,
    )
]

if __name__ == "__main__":
    DemoServer("financial_data", TOOLS).serve()
