"""Statements of six made-up companies: a server that declares what it returns, with an array at the root.

Every row has the declared fields. An income row has nothing else. A cash-flow row carries them as the lines
that its reconciliation starts from. A balance is a moment, so there they are the twelve months up to its date.
The books agree: quarters add up to years, assets are liabilities plus equity, cash moves by the cash flow.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_types import Tool

from halflap.demo._serving import READ_ONLY, RefusedError, ServedTool, serve

MILLION = 1_000_000
QUARTER_ENDS = ("03-31", "06-30", "09-30", "12-31")
FIRST_YEAR = 2019


@dataclass(frozen=True)
class Company:
    name: str
    years: Sequence[Sequence[int]]
    """Revenue, operating income and net income of each year from FIRST_YEAR on, in millions."""
    seasons: Sequence[int]
    """Percent of a year that falls into each quarter."""
    opening_cash: int
    opening_equity: int
    payables: int
    """Liabilities as percent of the last twelve months' revenue."""
    depreciation: int
    """Percent of revenue, like the next."""
    investment: int
    payout: int
    """Percent of a profit that is paid out as dividends."""


_DATA = json.loads(Path(__file__).with_name("companies.json").read_text(encoding="utf-8"))
COMPANIES = {ticker: Company(**one) for ticker, one in _DATA.items()}

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


@dataclass(frozen=True)
class Entry:
    """One quarter or one year of a company's books, in dollars."""

    period: str
    date: str
    revenue: int
    operating_income: int
    net_income: int
    operating_cash_flow: int
    capital_expenditure: int
    dividends: int


def query_financials(
    ticker: str, statement: str, period: str = "annual", limit: int = 4
) -> list[dict[str, Any]]:
    company = COMPANIES.get(ticker.upper())
    if company is None:
        raise RefusedError(f"Unknown ticker: {ticker}. Known tickers: {', '.join(COMPANIES)}.")
    quarters = list(_quarters(company))
    entries = (
        quarters
        if period == "quarter"
        else [_sum(quarters[at : at + 4]) for at in range(0, len(quarters), 4)]
    )
    if statement == "balance":
        rows = _balances(company, quarters, {entry.date: entry.period for entry in entries})
    elif statement == "cashflow":
        rows = [_cash_flow(entry) for entry in entries]
    else:
        rows = [_headline(entry) for entry in entries]
    return rows[::-1][:limit]


def _quarters(company: Company) -> Iterator[Entry]:
    for year, amounts in enumerate(company.years, start=FIRST_YEAR):
        for quarter, end in enumerate(QUARTER_ENDS):
            revenue, operating_income, net_income = (
                _share(amount * MILLION, company.seasons, quarter) for amount in amounts
            )
            yield Entry(
                period=f"{year}-Q{quarter + 1}",
                date=f"{year}-{end}",
                revenue=revenue,
                operating_income=operating_income,
                net_income=net_income,
                operating_cash_flow=net_income + revenue * company.depreciation // 100,
                capital_expenditure=revenue * company.investment // 100,
                dividends=max(net_income, 0) * company.payout // 100,
            )


def _share(amount: int, seasons: Sequence[int], quarter: int) -> int:
    return amount * sum(seasons[: quarter + 1]) // 100 - amount * sum(seasons[:quarter]) // 100


def _sum(entries: list[Entry]) -> Entry:
    last = entries[-1]
    return Entry(
        period=f"FY{last.date[:4]}",
        date=last.date,
        revenue=sum(entry.revenue for entry in entries),
        operating_income=sum(entry.operating_income for entry in entries),
        net_income=sum(entry.net_income for entry in entries),
        operating_cash_flow=sum(entry.operating_cash_flow for entry in entries),
        capital_expenditure=sum(entry.capital_expenditure for entry in entries),
        dividends=sum(entry.dividends for entry in entries),
    )


def _headline(entry: Entry) -> dict[str, Any]:
    return {
        "revenue": entry.revenue,
        "netIncome": entry.net_income,
        "operatingIncome": entry.operating_income,
        "period": entry.period,
        "date": entry.date,
    }


def _cash_flow(entry: Entry) -> dict[str, Any]:
    free = entry.operating_cash_flow - entry.capital_expenditure
    return {
        **_headline(entry),
        "operatingCashFlow": entry.operating_cash_flow,
        "capitalExpenditure": entry.capital_expenditure,
        "freeCashFlow": free,
        "dividendsPaid": entry.dividends,
        "netChangeInCash": free - entry.dividends,
    }


def _balances(company: Company, quarters: list[Entry], wanted: dict[str, str]) -> list[dict[str, Any]]:
    cash = company.opening_cash * MILLION
    equity = company.opening_equity * MILLION
    rows = []
    for count, quarter in enumerate(quarters, start=1):
        cash += quarter.operating_cash_flow - quarter.capital_expenditure - quarter.dividends
        equity += quarter.net_income - quarter.dividends
        if count < len(QUARTER_ENDS) or quarter.date not in wanted:
            continue
        last_twelve_months = _sum(quarters[count - 4 : count])
        liabilities = last_twelve_months.revenue * company.payables // 100
        rows.append(
            {
                **_headline(last_twelve_months),
                "period": wanted[quarter.date],
                "cash": cash,
                "totalAssets": equity + liabilities,
                "totalLiabilities": liabilities,
                "totalEquity": equity,
            }
        )
    return rows


TOOLS = [
    ServedTool(
        Tool(
            name="query_financials",
            description="Fetch income/balance/cashflow statements for a ticker.",
            input_schema={
                "type": "object",
                "properties": {
                    "ticker": {"type": "string"},
                    "statement": {"type": "string", "enum": ["income", "balance", "cashflow"]},
                    "period": {"type": "string", "enum": ["annual", "quarter"]},
                    "limit": {"type": "integer"},
                },
                "required": ["ticker", "statement"],
            },
            output_schema=OUTPUT_SCHEMA,
            annotations=READ_ONLY,
        ),
        query_financials,
    )
]

if __name__ == "__main__":
    serve("financial_data", TOOLS)
