"""A few invented servers, and which of their tools feed which.

Somebody who works with these tools would carry a value between the pairs of `MUST`, and could not between those of
`NEVER`, though names, formats or words are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.making import tool

if TYPE_CHECKING:
    from halflap.graph.ports import Ports

PLACE = {"name": str, "lat": float, "lon": float}
CALENDAR = [
    tool("calendar", "list_calendars", "", {"calendars": [{"id": str, "summary": str}]}),
    tool(
        "calendar",
        "list_events",
        "calendarId! timeMin pageToken",
        {"events": [{"id": str, "start": "date-time", "location": str}], "nextPageToken": str},
        "List events of a calendar.",
    ),
    tool("calendar", "get_event", "calendarId! eventId!", {"id": str, "start": "date-time"}),
    tool(
        "calendar",
        "create_event",
        {"calendarId!": str, "summary!": str, "start!": "date-time", "end!": "date-time"},
        {"id": str, "status": str},
        "Create an event.",
    ),
    tool("calendar", "delete_event", "calendarId! eventId!", {"deleted": bool}),
    tool(
        "calendar",
        "find_free_slots",
        {"attendees!": ["email"], "day!": "date"},
        {"slots": [{"start": "date-time", "end": "date-time"}]},
    ),
]
MAIL = [
    tool("mail", "search_messages", "query!", {"messages": [{"id": str, "thread_id": str, "snippet": str}]}),
    tool(
        "mail",
        "read_message",
        "message_id!",
        {"id": str, "thread_id": str, "from": "email", "body": str, "attachments": [{"attachment_id": str}]},
    ),
    tool("mail", "send_message", {"to!": ["email"], "subject!": str, "body!": str}, {"message_id": str}),
    tool("mail", "reply_to_thread", "thread_id! body!", {"message_id": str}),
    tool("mail", "download_attachment", "message_id! attachment_id!", {"path": str}),
    tool("mail", "list_labels", "", {"labels": [{"id": str, "name": str}]}),
    tool("mail", "apply_label", "message_id! label_id!", {"ok": bool}),
    tool("mail", "batch_archive", "message_ids:string[]!", {"archived": int}),
]
WEATHER = [
    tool("weather", "geocode", "query!", {"results": [PLACE]}),
    tool("weather", "get_forecast", "latitude:number! longitude:number!", {"daily": [{"date": "date"}]}),
    tool("weather", "list_stations", "country_code!", {"stations": [{"station_id": str, "name": str}]}),
    tool("weather", "get_observations", "station_id!", {"observations": [{"time": "date-time"}]}),
    tool("weather", "get_alerts", "region!", {"alerts": [{"id": str, "severity": str}]}),
]
CRM = [
    tool(
        "crm",
        "search_contacts",
        "query!",
        {"results": [{"id": str, "properties": {"email": "email"}}], "total": int},
        "Search contacts.",
    ),
    tool("crm", "get_contact", "contactId!", {"id": str, "email": "email", "companyId": str}),
    tool("crm", "get_company", "company_id!", {"company_id": str, "name": str}),
    tool(
        "crm",
        "list_deals",
        "contact_id stage",
        {"deals": [{"deal_id": str, "stage": str, "contact_id": str}]},
    ),
    tool("crm", "update_deal", "deal_id! stage amount:number", {"success": bool, "data": {"deal_id": str}}),
    tool("crm", "log_call", "contact_id! notes!", {"call_id": str}),
    tool("crm", "merge_contacts", "contact_ids:string[]!", {"id": str}),
]
ALL: list[Ports] = [*CALENDAR, *MAIL, *WEATHER, *CRM]

MUST = """
calendar.list_calendars calendar.list_events
calendar.list_events calendar.get_event
calendar.list_events calendar.delete_event
calendar.create_event calendar.get_event
calendar.find_free_slots calendar.create_event
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
calendar.list_calendars calendar.find_free_slots
calendar.list_events mail.read_message
calendar.delete_event calendar.get_event
calendar.list_events calendar.list_calendars
mail.list_labels mail.read_message
mail.search_messages mail.list_labels
mail.batch_archive mail.read_message
mail.search_messages calendar.list_events
weather.get_observations weather.get_forecast
weather.get_alerts weather.get_observations
weather.geocode crm.get_company
crm.log_call crm.get_contact
crm.get_company crm.get_contact
crm.list_deals crm.get_company
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(source, target) for source, target in (line.split() for line in text.strip().splitlines())]
