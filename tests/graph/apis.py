"""Invented tools in the styles of well-known APIs, and the flows of values among them that are true.

Written before anything was measured on them: a rule may be changed because flows fail for a common reason, an entry may
not. A flow is a line: from a tool to a tool, and which field fills which parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.making import tool

if TYPE_CHECKING:
    from halflap.graph.ports import Ports

TEXT_OR_NULL: Any = {"type": ["string", "null"]}
TIME = "date-time"
MONEY = {"amount": str, "currency_code": str}

CUSTOMER = {
    "id": str,
    "object": str,
    "email": TEXT_OR_NULL,
    "name": TEXT_OR_NULL,
    "default_source": TEXT_OR_NULL,
}
CHARGE = {
    "id": str,
    "object": str,
    "amount": int,
    "customer": TEXT_OR_NULL,
    "invoice": TEXT_OR_NULL,
    "payment_intent": TEXT_OR_NULL,
    "balance_transaction": TEXT_OR_NULL,
}
INVOICE = {
    "id": str,
    "object": str,
    "number": TEXT_OR_NULL,
    "customer": str,
    "subscription": TEXT_OR_NULL,
    "charge": TEXT_OR_NULL,
    "total": int,
}
SUBSCRIPTION = {
    "id": str,
    "customer": str,
    "latest_invoice": TEXT_OR_NULL,
    "items": {"data": [{"id": str, "price": {"id": str, "product": str}}]},
}
PAYMENTS = [
    tool("payments", "list_customers", "email limit:integer starting_after", {"data": [CUSTOMER], "has_more": bool}, "Lists customers."),
    tool("payments", "get_customer", {"customer!": {"type": "string", "maxLength": 5000}}, CUSTOMER, "Retrieves a customer."),
    tool("payments", "list_charges", "customer payment_intent limit:integer starting_after", {"data": [CHARGE], "has_more": bool}, "Lists charges, newest first."),
    tool("payments", "get_charge", "charge!", CHARGE, "Retrieves a charge."),
    tool("payments", "create_refund", "charge! amount:integer reason", {"id": str, "amount": int, "charge": str}, "Refunds a charge."),
    tool("payments", "list_invoices", "customer subscription status", {"data": [INVOICE], "has_more": bool}, "Lists invoices."),
    tool("payments", "get_invoice", "invoice!", INVOICE, "Retrieves an invoice."),
    tool("payments", "list_subscriptions", "customer price", {"data": [SUBSCRIPTION], "has_more": bool}, "Lists subscriptions."),
    tool("payments", "cancel_subscription", "subscription_exposed_id!", SUBSCRIPTION, "Cancels a subscription."),
    tool("payments", "get_price", "price!", {"id": str, "product": str, "unit_amount": int}, "Retrieves a price."),
    tool("payments", "get_product", "id!", {"id": str, "name": str, "default_price": TEXT_OR_NULL}, "Retrieves a product."),
    tool("payments", "get_balance_transaction", "id!", {"id": str, "net": int, "source": TEXT_OR_NULL}, "Retrieves a balance transaction."),
]  # fmt: skip

CHANNEL = {
    "id": str,
    "name": str,
    "creator": str,
    "is_archived": bool,
    "topic": {"value": str, "creator": str},
}
MESSAGE = {"type": str, "user?": str, "text": str, "ts": str, "thread_ts?": str, "bot_id?": str}
MEMBER = {"id": str, "team_id": str, "name": str, "profile": {"real_name": str, "email?": "email"}}
CHAT = [
    tool("chat", "conversations_list", "types cursor limit:integer", {"ok": bool, "channels": [CHANNEL], "response_metadata": {"next_cursor": str}}, "Lists all channels of a team."),
    tool("chat", "conversations_history", "channel! oldest latest cursor", {"ok": bool, "messages": [MESSAGE], "has_more": bool}, "Fetches the messages of a channel."),
    tool("chat", "conversations_replies", "channel! ts! cursor", {"ok": bool, "messages": [MESSAGE]}, "Fetches a thread of messages."),
    tool("chat", "conversations_members", "channel! cursor", {"ok": bool, "members": [str]}, "Lists the members of a channel."),
    tool("chat", "users_list", "cursor team_id", {"ok": bool, "members": [MEMBER]}, "Lists all users of a team."),
    tool("chat", "users_info", "user!", {"ok": bool, "user": MEMBER}, "Gets a user."),
    tool("chat", "users_lookupByEmail", {"email!": "email"}, {"ok": bool, "user": MEMBER}, "Finds a user by email address."),
    tool("chat", "conversations_open", "users", {"ok": bool, "channel": {"id": str}}, "Opens a direct message."),
    tool("chat", "chat_postMessage", "channel! text! thread_ts", {"ok": bool, "channel": str, "ts": str, "message": MESSAGE}, "Sends a message to a channel."),
    tool("chat", "chat_update", "channel! ts! text!", {"ok": bool, "channel": str, "ts": str}, "Updates a message."),
]  # fmt: skip

EVENT = {
    "id": str,
    "status": str,
    "summary?": str,
    "organizer": {"email": "email", "displayName?": str},
    "start": {"dateTime?": TIME, "timeZone?": str},
    "end": {"dateTime?": TIME},
    "attendees?": [{"email": "email", "responseStatus": str}],
    "recurringEventId?": str,
}
CALENDAR = [
    tool("calendar", "calendarList_list", "pageToken maxResults:integer", {"kind": str, "nextPageToken?": str, "items": [{"id": str, "summary": str, "timeZone?": str, "primary?": bool}]}, "Returns the calendars on the user's list."),
    tool("calendar", "events_list", "calendarId! q timeMin timeMax pageToken", {"summary": str, "timeZone": str, "nextPageToken?": str, "items": [EVENT]}, "Returns the events of a calendar."),
    tool("calendar", "events_get", "calendarId! eventId!", EVENT, "Returns an event."),
    tool("calendar", "events_instances", "calendarId! eventId! pageToken", {"items": [EVENT]}, "Returns the instances of a recurring event."),
    tool("calendar", "events_delete", "calendarId! eventId!", {"deleted": bool}, "Deletes an event."),
    tool("calendar", "acl_list", "calendarId!", {"items": [{"id": str, "role": str, "scope": {"type": str, "value?": str}}]}, "Returns the access rules of a calendar."),
    tool("calendar", "acl_get", "calendarId! ruleId!", {"id": str, "role": str}, "Returns an access rule."),
]  # fmt: skip

PERSON = {"accountId": str, "displayName": str, "emailAddress?": "email", "active": bool}
ISSUE = {
    "id": str,
    "key": str,
    "self": "uri",
    "fields": {
        "summary": str,
        "status": {"id": str, "name": str},
        "assignee": {"anyOf": [{"type": "object", "properties": {"accountId": {"type": "string"}, "displayName": {"type": "string"}}, "required": ["accountId"]}, {"type": "null"}]},
        "project": {"id": str, "key": str, "name": str},
        "parent?": {"id": str, "key": str},
    },
}  # fmt: skip
TRACKER = [
    tool("tracker", "searchProjects", "query startAt:integer", {"total": int, "values": [{"id": str, "key": str, "name": str, "lead?": PERSON}]}, "Returns projects."),
    tool("tracker", "getProject", "projectIdOrKey!", {"id": str, "key": str, "name": str, "components": [{"id": str, "name": str}]}, "Returns a project."),
    tool("tracker", "searchIssues", "jql! startAt:integer", {"total": int, "issues": [ISSUE]}, "Searches for issues."),
    tool("tracker", "getIssue", "issueIdOrKey! fields", ISSUE, "Returns an issue."),
    tool("tracker", "getComments", "issueIdOrKey!", {"comments": [{"id": str, "author": PERSON, "body": str}]}, "Returns the comments of an issue."),
    tool("tracker", "getComment", "issueIdOrKey! id!", {"id": str, "author": PERSON, "body": str}, "Returns a comment."),
    tool("tracker", "getTransitions", "issueIdOrKey!", {"transitions": [{"id": str, "name": str, "to": {"id": str, "name": str}}]}, "Returns the transitions that an issue can make."),
    tool("tracker", "doTransition", {"issueIdOrKey!": str, "transition!": {"id": str}}, {"done": bool}, "Performs a transition of an issue."),
    tool("tracker", "assignIssue", "issueIdOrKey! accountId!", {"done": bool}, "Assigns an issue to a user."),
    tool("tracker", "findUsers", "query!", [PERSON], "Returns users."),
    tool("tracker", "getAllBoards", "projectKeyOrId startAt:integer", {"total": int, "values": [{"id": int, "name": str, "type": str}]}, "Returns boards."),
    tool("tracker", "getAllSprints", "boardId:integer! state", {"values": [{"id": int, "name": str, "originBoardId": int}]}, "Returns the sprints of a board."),
    tool("tracker", "getIssuesForSprint", "sprintId:integer!", {"issues": [ISSUE]}, "Returns the issues of a sprint."),
]  # fmt: skip

STORAGE = [
    tool("storage", "ListBuckets", "", {"Buckets": [{"Name": str, "CreationDate": TIME}], "Owner": {"ID": str, "DisplayName": str}}, "Lists all buckets."),
    tool("storage", "ListObjectsV2", "Bucket! Prefix ContinuationToken", {"Name": str, "Contents": [{"Key": str, "ETag": str, "Size": int}], "IsTruncated": bool, "NextContinuationToken?": str}, "Lists the objects of a bucket."),
    tool("storage", "GetObject", "Bucket! Key! VersionId", {"Body": str, "ETag": str, "ContentType": str}, "Gets an object."),
    tool("storage", "ListObjectVersions", "Bucket! Prefix", {"Versions": [{"Key": str, "VersionId": str, "IsLatest": bool}]}, "Lists the versions of the objects of a bucket."),
    tool("storage", "ListMultipartUploads", "Bucket!", {"Bucket": str, "Uploads": [{"UploadId": str, "Key": str, "Initiated": TIME}]}, "Lists uploads in progress."),
    tool("storage", "AbortMultipartUpload", "Bucket! Key! UploadId!", {"done": bool}, "Aborts an upload."),
    tool("drive", "files_list", "q pageToken", {"nextPageToken?": str, "files": [{"id": str, "name": str, "mimeType": str, "parents?": [str], "driveId?": str}]}, "Lists the user's files."),
    tool("drive", "files_get", "fileId! fields", {"id": str, "name": str, "mimeType": str}, "Gets a file's metadata."),
    tool("drive", "permissions_list", "fileId! pageToken", {"permissions": [{"id": str, "role": str, "emailAddress?": "email"}]}, "Lists a file's permissions."),
    tool("drive", "permissions_delete", "fileId! permissionId!", {"done": bool}, "Deletes a permission."),
    tool("drive", "comments_list", "fileId!", {"comments": [{"id": str, "author": {"displayName": str}, "replies": [{"id": str}]}]}, "Lists a file's comments."),
    tool("drive", "comments_get", "fileId! commentId!", {"id": str, "content": str}, "Gets a comment."),
]  # fmt: skip

PRODUCT = {
    "id": int,
    "title": str,
    "handle": str,
    "variants": [{"id": int, "product_id": int, "sku": TEXT_OR_NULL, "inventory_item_id": int, "price": str}],
}
ORDER = {
    "id": int,
    "name": str,
    "email": TEXT_OR_NULL,
    "customer?": {"id": int, "email": TEXT_OR_NULL, "default_address?": {"id": int, "customer_id": int}},
    "line_items": [{"id": int, "product_id": int, "variant_id": int, "quantity": int}],
    "fulfillments": [{"id": int, "order_id": int, "location_id": int, "tracking_number": TEXT_OR_NULL}],
    "location_id?": int,
}
SHOP = [
    tool("shop", "list_products", "limit:integer since_id:integer", {"products": [PRODUCT]}, "Retrieves products."),
    tool("shop", "get_product", "product_id:integer!", {"product": PRODUCT}, "Retrieves a product."),
    tool("shop", "get_variant", "variant_id:integer!", {"variant": {"id": int, "product_id": int, "inventory_item_id": int}}, "Retrieves a product variant."),
    tool("shop", "list_orders", "status limit:integer", {"orders": [ORDER]}, "Retrieves orders."),
    tool("shop", "get_order", "order_id:integer!", {"order": ORDER}, "Retrieves an order."),
    tool("shop", "get_customer", "customer_id:integer!", {"customer": {"id": int, "email": TEXT_OR_NULL, "last_order_id?": int}}, "Retrieves a customer."),
    tool("shop", "list_fulfillments", "order_id:integer!", {"fulfillments": [ORDER["fulfillments"][0]]}, "Retrieves the fulfillments of an order."),
    tool("shop", "cancel_fulfillment", "fulfillment_id:integer!", {"fulfillment": {"id": int, "status": str}}, "Cancels a fulfillment."),
    tool("shop", "get_inventory_levels", "inventory_item_ids:integer[]! location_ids:integer[]", {"inventory_levels": [{"inventory_item_id": int, "location_id": int, "available": int}]}, "Retrieves inventory levels."),
    tool("shop", "get_location", "location_id:integer!", {"location": {"id": int, "name": str}}, "Retrieves a location."),
    tool("wallet", "get_order", "order_id!", {"id": str, "status": str, "purchase_units": [{"reference_id": str, "payee": {"email_address": "email", "merchant_id": str}, "payments": {"captures": [{"id": str, "amount": MONEY}]}}]}, "Shows the details of an order."),
    tool("wallet", "refund_capture", "capture_id! note_to_payer", {"id": str, "status": str}, "Refunds a captured payment."),
]  # fmt: skip

OTHERS = [
    tool("tasks", "getWorkspaces", "limit:integer offset", {"data": [{"gid": str, "resource_type": str, "name": str}]}, "Gets all workspaces."),
    tool("tasks", "getProjectsForWorkspace", "workspace_gid! archived:boolean", {"data": [{"gid": str, "resource_type": str, "name": str}]}, "Gets the projects of a workspace."),
    tool("tasks", "getTasksForProject", "project_gid! completed_since", {"data": [{"gid": str, "name": str, "resource_subtype": str}]}, "Gets the tasks of a project."),
    tool("tasks", "getTask", "task_gid!", {"data": {"gid": str, "name": str, "assignee?": {"gid": str, "name": str}, "projects": [{"gid": str, "name": str}]}}, "Gets a task."),
    tool("tasks", "getUser", "user_gid!", {"data": {"gid": str, "email": str}}, "Gets a user."),
    tool("desk", "list_tickets", "page:integer", {"tickets": [{"id": int, "subject": str, "requester_id": int, "assignee_id?": int, "organization_id?": int}], "count": int}, "Lists tickets."),
    tool("desk", "show_ticket", "ticket_id:integer!", {"ticket": {"id": int, "subject": str, "requester_id": int}}, "Shows a ticket."),
    tool("desk", "show_user", "user_id:integer!", {"user": {"id": int, "email": str, "organization_id?": int}}, "Shows a user."),
    tool("desk", "show_organization", "organization_id:integer!", {"organization": {"id": int, "name": str}}, "Shows an organization."),
    tool("cluster", "list_namespaces", "", {"items": [{"metadata": {"name": str, "uid": str}}]}, "Lists namespaces."),
    tool("cluster", "list_pods", "namespace!", {"items": [{"metadata": {"name": str, "namespace": str, "uid": str}, "spec": {"nodeName?": str, "containers": [{"name": str, "image": str}]}}]}, "Lists the pods of a namespace."),
    tool("cluster", "read_pod_log", "name! namespace! container", str, "Reads the log of a pod."),
    tool("cluster", "read_node", "name!", {"metadata": {"name": str}, "status": {"phase?": str}}, "Reads a node."),
    tool("music", "search", "q! type!", {"artists?": {"items": [{"id": str, "name": str, "uri": str}]}, "albums?": {"items": [{"id": str, "name": str, "artists": [{"id": str, "name": str}]}]}}, "Searches the catalogue."),
    tool("music", "get_artist", "id!", {"id": str, "name": str, "genres": [str]}, "Gets an artist."),
    tool("music", "get_album_tracks", "id! market", {"items": [{"id": str, "name": str, "artists": [{"id": str, "name": str}]}]}, "Gets the tracks of an album."),
    tool("tables", "list_bases", "offset", {"bases": [{"id": str, "name": str, "permissionLevel": str}]}, "Lists bases."),
    tool("tables", "get_base_schema", "baseId!", {"tables": [{"id": str, "name": str, "primaryFieldId": str, "fields": [{"id": str, "name": str}]}]}, "Returns the tables of a base."),
    tool("tables", "list_records", "baseId! tableIdOrName! offset", {"records": [{"id": str, "createdTime": TIME, "fields": {...: Any}}], "offset?": str}, "Lists the records of a table."),
    tool("tables", "get_record", "baseId! tableIdOrName! recordId!", {"id": str, "fields": {...: Any}}, "Retrieves a record."),
    tool("meetings", "users", "page_size:integer", {"users": [{"id": str, "email": "email", "pmi": int}]}, "Lists the users of an account."),
    tool("meetings", "meetings", "userId! type", {"meetings": [{"uuid": str, "id": int, "host_id": str, "topic": str}]}, "Lists a user's meetings."),
    tool("meetings", "meeting", "meetingId:integer!", {"uuid": str, "id": int, "host_id": str, "join_url": "uri"}, "Retrieves a meeting."),
    tool("bank", "lookup_account_id_by_phone", "phone!", str, "Looks up an account."),
    tool("bank", "get_account", "account_id!", {"account_id": str, "iban": str, "owner": {"user_id": str, "full_name": str}}, "Gets an account."),
    tool("bank", "list_transactions", "account_id! from_date to_date", {"transactions": [{"transaction_id": str, "counterparty_iban": str, "booking_date": "date"}]}, "Lists the transactions of an account."),
    tool("bank", "resolve_iban", "iban!", {"bank_name": str, "bic": str}, "Finds the bank of an account number."),
    tool("bank", "dispute_transaction", "transaction_id! reason!", {"dispute_id": str}, "Disputes a transaction."),
]  # fmt: skip

ALL: list[Ports] = [*PAYMENTS, *CHAT, *CALENDAR, *TRACKER, *STORAGE, *SHOP, *OTHERS]

FLOWS = """
payments.list_customers payments.get_customer customer=data[].id
payments.list_customers payments.list_charges customer=data[].id
payments.list_charges payments.get_charge charge=data[].id
payments.list_charges payments.create_refund charge=data[].id
payments.list_charges payments.get_invoice invoice=data[].invoice
payments.list_invoices payments.get_customer customer=data[].customer
payments.get_invoice payments.get_charge charge=charge
payments.get_charge payments.get_balance_transaction id=balance_transaction
payments.list_subscriptions payments.get_price price=data[].items.data[].price.id
payments.get_price payments.get_product id=product
payments.list_subscriptions payments.cancel_subscription subscription_exposed_id=data[].id
chat.conversations_list chat.conversations_history channel=channels[].id
chat.conversations_list chat.conversations_members channel=channels[].id
chat.conversations_members chat.users_info user=members[]
chat.conversations_history chat.users_info user=messages[].user
chat.conversations_history chat.conversations_replies ts=messages[].ts
chat.users_list chat.users_info user=members[].id
chat.users_lookupByEmail chat.users_info user=user.id
chat.conversations_open chat.chat_postMessage channel=channel.id
chat.chat_postMessage chat.chat_update channel=channel ts=ts
calendar.calendarList_list calendar.events_list calendarId=items[].id
calendar.events_list calendar.events_get eventId=items[].id
calendar.events_list calendar.events_delete eventId=items[].id
calendar.acl_list calendar.acl_get ruleId=items[].id
calendar.events_list chat.users_lookupByEmail email=items[].attendees[].email|items[].organizer.email
tracker.searchProjects tracker.getProject projectIdOrKey=values[].id|values[].key
tracker.searchIssues tracker.getIssue issueIdOrKey=issues[].id|issues[].key
tracker.searchIssues tracker.getComments issueIdOrKey=issues[].id|issues[].key
tracker.getComments tracker.getComment id=comments[].id
tracker.getTransitions tracker.doTransition transition.id=transitions[].id
tracker.findUsers tracker.assignIssue accountId=[].accountId
tracker.getAllBoards tracker.getAllSprints boardId=values[].id
tracker.getAllSprints tracker.getIssuesForSprint sprintId=values[].id
tracker.searchIssues tracker.getProject projectIdOrKey=issues[].fields.project.id|issues[].fields.project.key
storage.ListBuckets storage.ListObjectsV2 Bucket=Buckets[].Name
storage.ListObjectsV2 storage.GetObject Key=Contents[].Key
storage.ListObjectVersions storage.GetObject Key=Versions[].Key VersionId=Versions[].VersionId
storage.ListMultipartUploads storage.AbortMultipartUpload Key=Uploads[].Key UploadId=Uploads[].UploadId
drive.files_list drive.files_get fileId=files[].id
drive.files_list drive.permissions_list fileId=files[].id
drive.permissions_list drive.permissions_delete permissionId=permissions[].id
drive.comments_list drive.comments_get commentId=comments[].id
shop.list_products shop.get_variant variant_id=products[].variants[].id
shop.list_products shop.get_inventory_levels inventory_item_ids[]=products[].variants[].inventory_item_id
shop.list_orders shop.get_order order_id=orders[].id
shop.list_orders shop.get_customer customer_id=orders[].customer.id
shop.get_order shop.get_product product_id=order.line_items[].product_id
shop.list_fulfillments shop.cancel_fulfillment fulfillment_id=fulfillments[].id
shop.get_inventory_levels shop.get_location location_id=inventory_levels[].location_id
wallet.get_order wallet.refund_capture capture_id=purchase_units[].payments.captures[].id
tasks.getWorkspaces tasks.getProjectsForWorkspace workspace_gid=data[].gid
tasks.getProjectsForWorkspace tasks.getTasksForProject project_gid=data[].gid
tasks.getTasksForProject tasks.getTask task_gid=data[].gid
tasks.getTask tasks.getUser user_gid=data.assignee.gid
desk.list_tickets desk.show_ticket ticket_id=tickets[].id
desk.list_tickets desk.show_user user_id=tickets[].requester_id|tickets[].assignee_id
desk.show_user desk.show_organization organization_id=user.organization_id
cluster.list_namespaces cluster.list_pods namespace=items[].metadata.name
cluster.list_pods cluster.read_pod_log name=items[].metadata.name namespace=items[].metadata.namespace
cluster.list_pods cluster.read_node name=items[].spec.nodeName
music.search music.get_artist id=artists.items[].id
music.search music.get_album_tracks id=albums.items[].id
music.get_album_tracks music.get_artist id=items[].artists[].id
tables.list_bases tables.get_base_schema baseId=bases[].id
tables.get_base_schema tables.list_records tableIdOrName=tables[].id|tables[].name
tables.list_records tables.get_record recordId=records[].id
meetings.users meetings.meetings userId=users[].id
meetings.meetings meetings.meeting meetingId=meetings[].id
bank.lookup_account_id_by_phone bank.get_account account_id=$
bank.lookup_account_id_by_phone bank.list_transactions account_id=$
bank.list_transactions bank.resolve_iban iban=transactions[].counterparty_iban
bank.list_transactions bank.dispute_transaction transaction_id=transactions[].transaction_id
"""

NEVER = """
chat.users_list chat.conversations_history
tracker.getComments tracker.getIssuesForSprint
music.get_album_tracks tables.get_record
bank.list_transactions payments.get_charge
payments.list_charges bank.dispute_transaction
shop.list_fulfillments shop.get_product
wallet.get_order shop.get_order
desk.show_organization desk.show_ticket
desk.list_tickets chat.users_info
calendar.acl_list calendar.events_get
calendar.calendarList_list drive.files_get
cluster.list_namespaces cluster.read_node
drive.comments_list drive.permissions_delete
tasks.getUser tasks.getTask
"""
"""Pairs of tools between which nobody could carry a value, though names are alike."""

ROUTES = """
payments.get_invoice email=a@b.c : list_customers list_invoices get_invoice
payments.create_refund payment_intent=pi_1 amount=5 : create_refund
payments.get_product customer=cus_1 : list_subscriptions get_product | list_subscriptions get_price get_product
chat.conversations_history : conversations_list conversations_history
chat.users_info channel=C1 : conversations_members users_info
chat.users_info email=a@b.c : users_lookupByEmail users_info
calendar.events_get q=review : calendarList_list events_list events_get
calendar.events_delete calendarId=c eventId=e : events_delete
tracker.getComments jql=x : searchIssues getComments
tracker.getIssuesForSprint boardId=3 : getAllSprints getIssuesForSprint
tracker.getIssuesForSprint projectKeyOrId=P : getAllBoards getAllSprints getIssuesForSprint
storage.GetObject Bucket=b : ListObjectsV2 GetObject
storage.GetObject : ListBuckets ListObjectsV2 GetObject
drive.permissions_list q=report : files_list permissions_list
shop.get_customer order_id=4 : get_order get_customer
shop.get_location product_id=7 : get_product get_inventory_levels get_location
tasks.getTask : getWorkspaces getProjectsForWorkspace getTasksForProject getTask
tasks.getUser project_gid=p : getTasksForProject getTask getUser
desk.show_organization ticket_id=5 : show_ticket show_user show_organization
cluster.read_pod_log namespace=default : list_pods read_pod_log
tables.get_record : list_bases get_base_schema list_records get_record
meetings.meeting : users meetings meeting
bank.list_transactions phone=1 : lookup_account_id_by_phone list_transactions
bank.resolve_iban phone=1 : lookup_account_id_by_phone get_account resolve_iban
"""
"""A tool that is wanted, what is known, and the tools of a right plan, or of several."""

GOALS = """
refund the charge of a customer : create_refund
cancel the subscription of this customer : cancel_subscription
send a message to the general channel : chat_postMessage
edit the text of my last message : chat_update
delete the event from my calendar : events_delete
assign the bug to Ada : assignIssue
move the issue to done : doTransition
abort the multipart upload of the video : AbortMultipartUpload
take away Bob's access to the file : permissions_delete
cancel the fulfillment of the order : cancel_fulfillment
give back a captured payment : refund_capture
dispute a transaction on my account : dispute_transaction
die Mitglieder eines Kanals auflisten conversations : conversations_members
annuler un abonnement subscription : cancel_subscription
lister les commentaires d'un fichier : comments_list
buscar proyectos del tracker : searchProjects
"""
"""Goals, and the tool that each asks for: changes first, then some in other languages."""
