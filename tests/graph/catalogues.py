"""Servers of many domains, as real ones are, and which of their tools feed which: judged before edges were computed.

`MUST` has pairs between which somebody who works with these tools would carry a value; `NEVER` pairs between which
there is nothing to carry, though names, formats or words are alike. What is in neither is not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.making import tool

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

GIT = [
    tool(
        "git",
        "search_repositories",
        "query! page:integer perPage:integer",
        {
            "total_count": int,
            "items": [
                {
                    "id": int,
                    "name": str,
                    "full_name": str,
                    "owner": {"login": str, "id": int},
                    "default_branch": str,
                    "html_url": str,
                }
            ],
        },
        "Search for repositories.",
    ),
    tool(
        "git",
        "list_issues",
        "owner! repo! state page:integer",
        [
            {
                "number": int,
                "title": str,
                "body": str,
                "state": str,
                "user": {"login": str},
                "labels": [{"name": str, "color": str}],
                "created_at": "date-time",
            }
        ],
        "List issues of a repository.",
    ),
    tool(
        "git",
        "get_issue",
        "owner! repo! issue_number:integer!",
        {"number": int, "title": str, "body": str, "state": str, "assignee": {"login": str}},
        "Get one issue.",
    ),
    tool(
        "git",
        "create_issue",
        "owner! repo! title! body labels:string[]",
        {"number": int, "html_url": str, "title": str},
        "Open a new issue.",
    ),
    tool(
        "git",
        "add_issue_comment",
        "owner! repo! issue_number:integer! body!",
        {"id": int, "body": str, "html_url": str},
        "Comment on an issue.",
    ),
    tool(
        "git",
        "list_pull_requests",
        "owner! repo! state",
        [{"number": int, "title": str, "head": {"ref": str, "sha": str}, "base": {"ref": str}}],
        "List pull requests.",
    ),
    tool(
        "git",
        "merge_pull_request",
        "owner! repo! pull_number:integer! merge_method",
        {"merged": bool, "sha": str, "message": str},
        "Merge a pull request.",
    ),
    tool(
        "git",
        "list_branches",
        "owner! repo!",
        [{"name": str, "commit": {"sha": str}, "protected": bool}],
        "List branches.",
    ),
    tool(
        "git",
        "list_commits",
        "owner! repo! sha",
        [{"sha": str, "message": str, "author": {"name": str, "email": "email", "date": "date-time"}}],
        "List commits of a branch.",
    ),
    tool(
        "git",
        "get_commit",
        "owner! repo! sha!",
        {"sha": str, "message": str, "files": [{"filename": str, "status": str, "additions": int}]},
        "Get one commit.",
    ),
    tool(
        "git",
        "get_file_contents",
        "owner! repo! path! branch",
        {"path": str, "content": str, "sha": str, "size": int},
        "Read a file of a repository.",
    ),
    tool(
        "git",
        "search_code",
        "query!",
        {"items": [{"path": str, "repository": {"full_name": str, "name": str, "owner": {"login": str}}}]},
        "Search for code in files.",
    ),
    tool(
        "git",
        "get_user",
        "username!",
        {"login": str, "id": int, "email": "email", "company": str, "location": str},
        "Get a user's profile.",
    ),
]

CALENDAR = [
    tool(
        "calendar",
        "list_calendars",
        "",
        {"calendars": [{"id": str, "summary": str, "timeZone": str}]},
        "List the calendars.",
    ),
    tool(
        "calendar",
        "list_events",
        "calendarId! timeMin timeMax maxResults:integer pageToken",
        {
            "events": [
                {
                    "id": str,
                    "summary": str,
                    "start": "date-time",
                    "end": "date-time",
                    "location": str,
                    "attendees": [{"email": "email", "responseStatus": str}],
                }
            ],
            "nextPageToken": str,
        },
        "List events of a calendar.",
    ),
    tool(
        "calendar",
        "get_event",
        "calendarId! eventId!",
        {
            "id": str,
            "summary": str,
            "start": "date-time",
            "end": "date-time",
            "attendees": [{"email": "email"}],
            "organizer": {"email": "email"},
        },
        "Get one event.",
    ),
    tool(
        "calendar",
        "create_event",
        {
            "calendarId!": str,
            "summary!": str,
            "start!": "date-time",
            "end!": "date-time",
            "attendees": [str],
            "location": str,
        },
        {"id": str, "htmlLink": str, "status": str},
        "Create an event.",
    ),
    tool(
        "calendar",
        "update_event",
        {"calendarId!": str, "eventId!": str, "summary": str, "start": "date-time", "end": "date-time"},
        {"id": str, "updated": "date-time"},
        "Change an event.",
    ),
    tool("calendar", "delete_event", "calendarId! eventId!", {"deleted": bool}, "Delete an event."),
    tool(
        "calendar",
        "find_free_slots",
        {"attendees!": ["email"], "duration_minutes!": int, "day!": "date"},
        {"slots": [{"start": "date-time", "end": "date-time"}]},
        "Find times at which all attendees are free.",
    ),
]

MAIL = [
    tool(
        "mail",
        "search_messages",
        "query! max_results:integer page_token",
        {"messages": [{"id": str, "thread_id": str, "snippet": str}], "next_page_token": str},
        "Search mail.",
    ),
    tool(
        "mail",
        "read_message",
        "message_id!",
        {
            "id": str,
            "thread_id": str,
            "from": "email",
            "to": ["email"],
            "subject": str,
            "body": str,
            "date": "date-time",
            "attachments": [{"attachment_id": str, "filename": str, "size": int}],
        },
        "Read one message.",
    ),
    tool(
        "mail",
        "send_message",
        {"to!": ["email"], "subject!": str, "body!": str, "cc": ["email"]},
        {"message_id": str, "thread_id": str},
        "Send a message.",
    ),
    tool("mail", "reply_to_thread", "thread_id! body!", {"message_id": str}, "Answer in a thread."),
    tool(
        "mail",
        "download_attachment",
        "message_id! attachment_id!",
        {"path": str, "mime_type": str},
        "Save an attachment to disk.",
    ),
    tool(
        "mail", "list_labels", "", {"labels": [{"id": str, "name": str, "unread_count": int}]}, "List labels."
    ),
    tool("mail", "apply_label", "message_id! label_id!", {"ok": bool}, "Label a message."),
    tool("mail", "batch_archive", "message_ids:string[]!", {"archived": int}, "Archive messages."),
]

FILES = [
    tool(
        "files",
        "list_directory",
        "path!",
        {"entries": [{"name": str, "path": str, "type": {"file", "directory"}, "size": int}]},
        "List the files and directories in a directory.",
    ),
    tool("files", "search_files", "pattern! directory", [str], "Find files by a pattern; gives their paths."),
    tool("files", "read_file", "path! encoding", {"content": str, "size": int}, "Read a file."),
    tool("files", "write_file", "path! content!", {"path": str, "bytes_written": int}, "Write a file."),
    tool(
        "files",
        "get_file_info",
        "file_path!",
        {"path": str, "size": int, "modified": "date-time"},
        "Tell about a file.",
    ),
    tool("files", "upload_file", "file_path!", "uri", "Upload a file and give its address."),
    tool("files", "disk_usage", "", {"total": int, "used": int, "free": int}, "How full the disk is."),
]

PAYMENTS = [
    tool(
        "pay",
        "create_customer",
        "email! name",
        {"id": str, "email": "email", "name": str, "created": int},
        "Create a customer.",
    ),
    tool(
        "pay",
        "list_customers",
        "limit:integer starting_after",
        {"data": [{"id": str, "email": "email", "name": str}], "has_more": bool},
        "List customers.",
    ),
    tool("pay", "create_product", "name! description", {"id": str, "name": str}, "Create a product."),
    tool(
        "pay",
        "create_price",
        "product! unit_amount:integer! currency!",
        {"id": str, "product": str, "unit_amount": int, "currency": str},
        "Create a price for a product.",
    ),
    tool(
        "pay",
        "create_payment_link",
        "price! quantity:integer!",
        {"id": str, "url": "uri"},
        "Create a payment link.",
    ),
    tool(
        "pay",
        "create_invoice",
        "customer! days_until_due:integer",
        {"id": str, "customer": str, "status": str},
        "Create an invoice.",
    ),
    tool(
        "pay",
        "finalize_invoice",
        "invoice!",
        {"id": str, "status": str, "hosted_invoice_url": "uri"},
        "Finalize an invoice.",
    ),
    tool(
        "pay",
        "list_payment_intents",
        "customer limit:integer",
        {"data": [{"id": str, "amount": int, "customer": str, "status": str}]},
        "List payments.",
    ),
    tool(
        "pay",
        "create_refund",
        "payment_intent! amount:integer reason",
        {"id": str, "status": str, "amount": int},
        "Refund a payment.",
    ),
    tool(
        "pay", "retrieve_balance", "", {"available": [{"amount": int, "currency": str}]}, "Tell the balance."
    ),
]

DATABASE = [
    tool("db", "list_databases", "", {"databases": [str]}, "List databases."),
    tool(
        "db",
        "list_tables",
        "database!",
        {"tables": [{"name": str, "schema": str, "rows": int}]},
        "List tables.",
    ),
    tool(
        "db",
        "describe_table",
        "database! table_name!",
        {"columns": [{"name": str, "type": str, "nullable": bool}], "primary_key": [str]},
        "Describe a table.",
    ),
    tool(
        "db",
        "run_query",
        "database! sql! timeout:integer",
        {"rows": [{...: str}], "row_count": int, "query_id": str},
        "Run a query.",
    ),
    tool("db", "cancel_query", "query_id!", {"cancelled": bool}, "Cancel a query that runs."),
    tool(
        "db",
        "export_table",
        "database! table! format",
        {"file_path": str, "rows": int},
        "Export a table into a file.",
    ),
    tool(
        "db",
        "server_status",
        "",
        {"uptime_seconds": int, "connections": int, "version": str},
        "How the server is.",
    ),
]

WEB = [
    tool(
        "web",
        "search",
        "query! count:integer",
        {"results": [{"title": str, "url": str, "snippet": str}]},
        "Search the web.",
    ),
    tool(
        "web",
        "fetch",
        "url! max_length:integer",
        {"content": str, "title": str, "status": int, "links": [str]},
        "Fetch a page.",
    ),
    tool(
        "web",
        "screenshot",
        "url! width:integer height:integer",
        {"image_path": str},
        "Take a picture of a page.",
    ),
    tool("web", "summarize", "text! max_words:integer", {"summary": str}, "Summarize a text."),
]

WEATHER = [
    tool(
        "weather",
        "geocode",
        "query!",
        {"results": [{"name": str, "country": str, "lat": float, "lon": float, "timezone": str}]},
        "Find a place.",
    ),
    tool(
        "weather",
        "get_forecast",
        "latitude:number! longitude:number! days:integer",
        {"daily": [{"date": "date", "temp_max": float, "temp_min": float}]},
        "Forecast.",
    ),
    tool(
        "weather", "get_air_quality", "lat:number! lon:number!", {"aqi": int, "pm25": float}, "Air quality."
    ),
    tool(
        "weather",
        "get_weather_by_city",
        "city! units",
        {"temperature": float, "humidity": int, "description": str},
        "Weather of a city.",
    ),
    tool(
        "weather",
        "list_stations",
        "country_code!",
        {"stations": [{"station_id": str, "name": str, "latitude": float, "longitude": float}]},
        "Weather stations.",
    ),
    tool(
        "weather",
        "get_observations",
        "station_id! hours:integer",
        {"observations": [{"time": "date-time", "temperature": float}]},
        "What a station measured.",
    ),
    tool(
        "weather",
        "get_alerts",
        "region!",
        {"alerts": [{"id": str, "severity": str, "headline": str}]},
        "Warnings.",
    ),
]

CHAT = [
    tool(
        "chat",
        "list_channels",
        "limit:integer cursor",
        {
            "channels": [{"id": str, "name": str, "is_private": bool, "num_members": int}],
            "response_metadata": {"next_cursor": str},
        },
        "List channels.",
    ),
    tool(
        "chat", "post_message", "channel_id! text! thread_ts", {"ts": str, "channel": str}, "Post a message."
    ),
    tool(
        "chat",
        "get_channel_history",
        "channel_id! limit:integer",
        {"messages": [{"user": str, "text": str, "ts": str, "thread_ts": str}]},
        "The last messages of a channel.",
    ),
    tool(
        "chat",
        "get_thread_replies",
        "channel_id! thread_ts!",
        {"messages": [{"user": str, "text": str, "ts": str}]},
        "A thread's messages.",
    ),
    tool("chat", "add_reaction", "channel_id! message_ts! emoji!", {"ok": bool}, "React to a message."),
    tool(
        "chat",
        "list_users",
        "cursor limit:integer",
        {
            "members": [{"id": str, "name": str, "real_name": str, "profile": {"email": "email"}}],
            "next_cursor": str,
        },
        "List users.",
    ),
    tool(
        "chat",
        "get_user_profile",
        "user_id!",
        {"display_name": str, "email": "email", "title": str, "phone": str},
        "A user's profile.",
    ),
    tool(
        "chat",
        "find_user_by_email",
        {"email!": "email"},
        {"user": {"id": str, "name": str}},
        "Look up a user.",
    ),
]

CRM = [
    tool(
        "crm",
        "search_contacts",
        "query! limit:integer",
        {
            "results": [{"id": str, "properties": {"email": "email", "firstname": str, "lastname": str}}],
            "total": int,
        },
        "Search contacts.",
    ),
    tool(
        "crm",
        "get_contact",
        "contactId!",
        {
            "id": str,
            "email": "email",
            "phone": str,
            "companyId": str,
            "address": {"street": str, "city": str, "country": str},
        },
        "Get a contact.",
    ),
    tool(
        "crm",
        "update_contact",
        {"contactId!": str, "properties!": {"email?": "email", "phone?": str}},
        {"id": str, "updatedAt": "date-time"},
        "Change a contact.",
    ),
    tool(
        "crm",
        "get_company",
        "company_id!",
        {"company_id": str, "name": str, "domain": str, "industry": str},
        "Get a company.",
    ),
    tool(
        "crm",
        "list_deals",
        "contact_id stage",
        {"deals": [{"deal_id": str, "title": str, "amount": float, "stage": str, "contact_id": str}]},
        "List deals.",
    ),
    tool(
        "crm",
        "update_deal",
        "deal_id! stage amount:number",
        {"success": bool, "data": {"deal_id": str, "stage": str}},
        "Change a deal.",
    ),
    tool(
        "crm",
        "log_call",
        "contact_id! notes! duration:integer",
        {"call_id": str, "created_at": "date-time"},
        "Write a call down.",
    ),
    tool("crm", "merge_contacts", "contact_ids:string[]!", {"id": str}, "Make one contact of several."),
    tool(
        "crm",
        "list_owners",
        "",
        [{"owner_id": str, "email": "email", "name": str}],
        "List the owners of deals.",
    ),
]

FINANCE = [
    tool(
        "stocks",
        "search_symbols",
        "query!",
        {"matches": [{"symbol": str, "name": str, "exchange": str}]},
        "Find a company's symbol.",
    ),
    tool(
        "stocks",
        "get_quote",
        "symbol!",
        {"symbol": str, "price": float, "volume": int, "timestamp": "date-time"},
        "A price now.",
    ),
    tool(
        "stocks",
        "get_history",
        "ticker! start_date! end_date!",
        {"prices": [{"date": "date", "close": float}]},
        "Prices of the past.",
    ),
    tool(
        "stocks",
        "get_news",
        "symbol! limit:integer",
        {"articles": [{"headline": str, "url": str, "published": "date-time"}]},
        "News.",
    ),
    tool(
        "stocks",
        "convert_currency",
        "amount:number! from_currency! to_currency!",
        {"converted": float, "rate": float},
        "Convert money.",
    ),
]

ALL: list[Ports] = [
    *GIT,
    *CALENDAR,
    *MAIL,
    *FILES,
    *PAYMENTS,
    *DATABASE,
    *WEB,
    *WEATHER,
    *CHAT,
    *CRM,
    *FINANCE,
]

MUST = """
git.search_repositories git.list_issues
git.search_repositories git.list_branches
git.search_repositories git.create_issue
git.list_issues git.get_issue
git.list_issues git.add_issue_comment
git.create_issue git.get_issue
git.create_issue git.add_issue_comment
git.get_issue git.add_issue_comment
git.list_pull_requests git.merge_pull_request
git.list_branches git.get_file_contents
git.list_commits git.get_commit
git.search_code git.get_file_contents
git.list_branches git.get_commit
git.list_issues git.get_user
calendar.list_calendars calendar.list_events
calendar.list_calendars calendar.create_event
calendar.list_events calendar.get_event
calendar.list_events calendar.delete_event
calendar.list_events calendar.update_event
calendar.create_event calendar.get_event
calendar.find_free_slots calendar.create_event
calendar.get_event calendar.delete_event
mail.search_messages mail.read_message
mail.search_messages mail.reply_to_thread
mail.search_messages mail.batch_archive
mail.read_message mail.download_attachment
mail.read_message mail.reply_to_thread
mail.list_labels mail.apply_label
mail.search_messages mail.apply_label
mail.read_message mail.send_message
files.list_directory files.read_file
files.search_files files.read_file
files.search_files files.get_file_info
files.list_directory files.get_file_info
files.search_files files.upload_file
pay.list_customers pay.create_invoice
pay.create_customer pay.create_invoice
pay.create_product pay.create_price
pay.create_price pay.create_payment_link
pay.create_invoice pay.finalize_invoice
pay.list_payment_intents pay.create_refund
pay.list_payment_intents pay.create_invoice
db.list_databases db.list_tables
db.list_databases db.run_query
db.list_tables db.describe_table
db.list_tables db.export_table
db.run_query db.cancel_query
web.search web.fetch
web.search web.screenshot
web.fetch web.screenshot
stocks.get_news web.fetch
weather.geocode weather.get_forecast
weather.geocode weather.get_air_quality
weather.list_stations weather.get_observations
weather.list_stations weather.get_forecast
crm.get_contact weather.get_weather_by_city
chat.list_channels chat.post_message
chat.list_channels chat.get_channel_history
chat.list_users chat.get_user_profile
chat.get_channel_history chat.get_thread_replies
chat.get_channel_history chat.add_reaction
chat.get_channel_history chat.get_user_profile
chat.find_user_by_email chat.get_user_profile
crm.get_contact chat.find_user_by_email
crm.search_contacts crm.get_contact
crm.search_contacts crm.log_call
crm.search_contacts crm.merge_contacts
crm.get_contact crm.get_company
crm.list_deals crm.update_deal
crm.list_deals crm.get_contact
crm.get_contact crm.log_call
crm.search_contacts mail.send_message
crm.list_owners mail.send_message
stocks.search_symbols stocks.get_quote
stocks.search_symbols stocks.get_history
"""

NEVER = """
git.get_issue git.create_issue
git.list_issues git.merge_pull_request
git.list_pull_requests git.get_issue
git.list_pull_requests git.add_issue_comment
git.add_issue_comment git.get_issue
git.add_issue_comment git.list_issues
git.list_branches git.get_issue
git.get_commit git.get_user
git.get_file_contents files.write_file
git.list_branches files.read_file
git.get_user chat.get_user_profile
git.get_issue calendar.create_event
git.create_issue web.summarize
calendar.list_calendars calendar.find_free_slots
calendar.list_events mail.read_message
calendar.delete_event calendar.get_event
calendar.get_event git.get_issue
calendar.list_events calendar.list_calendars
calendar.list_events stocks.get_history
mail.list_labels mail.read_message
mail.list_labels mail.reply_to_thread
mail.list_labels git.create_issue
mail.search_messages mail.list_labels
mail.search_messages calendar.list_events
mail.apply_label mail.read_message
mail.batch_archive mail.read_message
mail.read_message web.summarize
files.disk_usage files.read_file
files.read_file files.write_file
files.list_directory crm.search_contacts
files.list_directory git.get_file_contents
pay.create_product pay.create_customer
pay.create_product pay.create_invoice
pay.create_invoice pay.create_refund
pay.create_refund pay.finalize_invoice
pay.retrieve_balance pay.create_refund
pay.list_customers pay.create_refund
pay.list_customers crm.get_contact
pay.create_price pay.create_refund
db.server_status db.run_query
db.list_tables db.list_databases
db.describe_table db.list_databases
db.cancel_query db.run_query
db.list_tables weather.get_alerts
web.search web.summarize
web.fetch web.search
web.search git.create_issue
weather.get_forecast weather.get_air_quality
weather.get_observations weather.get_forecast
weather.get_alerts weather.get_observations
weather.get_forecast stocks.get_history
weather.geocode crm.get_company
chat.list_channels chat.get_user_profile
chat.list_users chat.post_message
chat.list_users git.get_user
chat.list_channels mail.search_messages
chat.list_users chat.list_channels
chat.add_reaction chat.post_message
crm.list_deals crm.get_company
crm.log_call crm.get_contact
crm.list_owners crm.get_contact
crm.get_company crm.get_contact
crm.list_deals stocks.convert_currency
crm.list_owners crm.update_deal
stocks.get_quote stocks.convert_currency
stocks.get_history calendar.create_event
stocks.search_symbols web.search
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [(source, target) for source, target in (line.split() for line in text.strip().splitlines())]
