"""Invented servers, and which of their tools feed which.

People who work with these tools would carry a value between the pairs of `MUST`, and could not between those of `NEVER`,
though names, formats or words are alike.
"""

from __future__ import annotations

import pytest

from graph.making import between, mappings, tool
from halflap.graph.edges import Graph

TIME = "date-time"
GRAPH = Graph(
    [
        tool("calendar", "list_calendars", "", {"calendars": [{"id": str, "summary": str}]}),
        tool("calendar", "list_events", "calendarId! pageToken", {"events": [{"id": str, "start": TIME}]}),
        tool("calendar", "get_event", "calendarId! eventId!", {"id": str, "start": TIME}),
        tool("calendar", "create_event", {"calendarId!": str, "start!": TIME, "end!": TIME}, {"id": str}),
        tool("calendar", "delete_event", "calendarId! eventId!", {"deleted": bool}),
        tool("calendar", "find_slots", {"attendees!": ["email"]}, {"slots": [{"start": TIME, "end": TIME}]}),
        tool("mail", "search_messages", "query!", {"messages": [{"id": str, "thread_id": str}]}),
        tool(
            "mail", "read_message", "message_id!", {"id": str, "from": "email", "attachments": [{"id": str}]}
        ),
        tool("mail", "send_message", {"to!": ["email"], "body!": str}, {"message_id": str}),
        tool("mail", "reply_to_thread", "thread_id! body!", {"message_id": str}),
        tool("mail", "download_attachment", "message_id! attachment_id!", {"path": str}),
        tool("mail", "list_labels", "", {"labels": [{"id": str, "name": str}]}),
        tool("mail", "apply_label", "message_id! label_id!", {"ok": bool}),
        tool("mail", "batch_archive", "message_ids:string[]!", {"archived": int}),
        tool("weather", "geocode", "query!", {"results": [{"name": str, "lat": float, "lon": float}]}),
        tool("weather", "get_forecast", "latitude:number! longitude:number!", {"daily": [{"date": "date"}]}),
        tool("weather", "list_stations", "country_code!", {"stations": [{"station_id": str, "name": str}]}),
        tool("weather", "get_observations", "station_id!", {"observations": [{"time": TIME}]}),
        tool(
            "crm", "search_contacts", "query!", {"results": [{"id": str, "properties": {"email": "email"}}]}
        ),
        tool("crm", "get_contact", "contactId!", {"id": str, "email": "email", "companyId": str}),
        tool("crm", "get_company", "company_id!", {"company_id": str, "name": str}),
        tool("crm", "list_deals", "contact_id", {"deals": [{"deal_id": str, "contact_id": str}]}),
        tool("crm", "update_deal", "deal_id! stage", {"success": bool, "data": {"deal_id": str}}),
        tool("crm", "log_call", "contact_id! notes!", {"call_id": str}),
        tool("crm", "merge_contacts", "contact_ids:string[]!", {"id": str}),
    ]
)
MUST = """
calendar.list_calendars calendar.list_events
calendar.list_events calendar.get_event
calendar.create_event calendar.get_event
calendar.find_slots calendar.create_event
mail.search_messages mail.read_message
mail.search_messages mail.reply_to_thread
mail.search_messages mail.batch_archive
mail.read_message mail.download_attachment
mail.read_message mail.send_message
mail.list_labels mail.apply_label
weather.geocode weather.get_forecast
weather.list_stations weather.get_observations
crm.search_contacts crm.get_contact
crm.search_contacts crm.merge_contacts
crm.search_contacts mail.send_message
crm.get_contact crm.get_company
crm.list_deals crm.update_deal
crm.list_deals crm.get_contact
"""
NEVER = """
calendar.list_calendars calendar.find_slots
calendar.list_events mail.read_message
calendar.delete_event calendar.get_event
mail.list_labels mail.read_message
mail.batch_archive mail.read_message
weather.get_observations weather.get_forecast
weather.geocode crm.get_company
crm.log_call crm.get_contact
crm.list_deals crm.get_company
"""


@pytest.mark.parametrize("pair", MUST.strip().splitlines())
def test_an_edge_where_a_value_can_be_carried(pair: str) -> None:
    assert between(GRAPH, *pair.split()) is not None


@pytest.mark.parametrize("pair", NEVER.strip().splitlines())
def test_no_edge_where_there_is_nothing_to_carry(pair: str) -> None:
    edge = between(GRAPH, *pair.split())
    assert edge is None, mappings(edge)
