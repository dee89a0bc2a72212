"""Further servers, written in other ways, judged like those of `catalogues`: before their edges were computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.making import tool

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

TRACKER = [
    tool(
        "tracker",
        "searchIssues",
        "jql! maxResults:integer startAt:integer",
        {
            "issues": [
                {
                    "id": str,
                    "key": str,
                    "fields": {
                        "summary": str,
                        "status": {"name": str},
                        "assignee": {"accountId": str, "emailAddress": "email"},
                        "project": {"id": str, "key": str},
                    },
                }
            ],
            "total": int,
        },
        "Search issues with JQL.",
    ),
    tool(
        "tracker",
        "getIssue",
        "issueKey!",
        {
            "id": str,
            "key": str,
            "fields": {"summary": str, "description": str, "reporter": {"accountId": str}},
        },
        "Get an issue.",
    ),
    tool("tracker", "transitionIssue", "issueKey! transitionId!", {"ok": bool}, "Move an issue."),
    tool(
        "tracker",
        "getTransitions",
        "issueKey!",
        {"transitions": [{"id": str, "name": str}]},
        "Which moves an issue can make.",
    ),
    tool("tracker", "assignIssue", "issueKey! accountId!", {"ok": bool}, "Assign an issue."),
    tool(
        "tracker",
        "searchUsers",
        "query!",
        [{"accountId": str, "displayName": str, "emailAddress": "email", "active": bool}],
        "Find users.",
    ),
    tool("tracker", "listProjects", "", {"values": [{"id": str, "key": str, "name": str}]}, "List projects."),
    tool(
        "tracker",
        "getBoard",
        "boardId:integer!",
        {"id": int, "name": str, "location": {"projectId": int, "projectKey": str}},
        "Get a board.",
    ),
    tool(
        "tracker",
        "listSprints",
        "boardId:integer! state",
        {"values": [{"id": int, "name": str, "goal": str, "startDate": "date-time"}]},
        "List a board's sprints.",
    ),
    tool(
        "tracker",
        "getSprintIssues",
        "sprintId:integer!",
        {"issues": [{"key": str, "summary": str}]},
        "Issues of a sprint.",
    ),
    tool(
        "tracker",
        "createIssue",
        "projectKey! summary! issueType! description",
        {"id": str, "key": str, "self": "uri"},
        "Create an issue.",
    ),
]

SHOP = [
    tool(
        "shop",
        "find_products",
        "keywords! category max_price:number",
        {
            "success": bool,
            "data": {"products": [{"sku": str, "title": str, "price": float, "in_stock": bool}]},
            "metadata": {"request_id": str},
        },
        "Find products.",
    ),
    tool(
        "shop",
        "product_info",
        "sku!",
        {"success": bool, "data": {"sku": str, "title": str, "brand": str, "related_skus": [str]}},
        "About a product.",
    ),
    tool("shop", "create_cart", "", {"success": bool, "data": {"cart_id": str}}, "Open a cart."),
    tool(
        "shop",
        "add_to_cart",
        "cart_id! sku! quantity:integer!",
        {"success": bool, "data": {"cart_id": str, "total": float}},
        "Put a product into a cart.",
    ),
    tool(
        "shop",
        "checkout",
        "cart_id! address_id! coupon_code",
        {"success": bool, "data": {"order_id": str, "total": float}},
        "Order what is in a cart.",
    ),
    tool(
        "shop",
        "list_addresses",
        "",
        {
            "success": bool,
            "data": {"addresses": [{"address_id": str, "street": str, "city": str, "zip": str}]},
        },
        "Addresses of the user.",
    ),
    tool(
        "shop",
        "track_order",
        "order_id!",
        {"success": bool, "data": {"order_id": str, "carrier": str, "tracking_number": str, "eta": "date"}},
        "Where an order is.",
    ),
    tool(
        "shop",
        "cancel_orders",
        "order_ids:string[]!",
        {"success": bool, "data": {"cancelled": [str]}},
        "Cancel orders.",
    ),
    tool(
        "shop",
        "product_reviews",
        "sku! page:integer",
        {
            "success": bool,
            "data": {
                "reviews": [{"review_id": str, "rating": int, "text": str, "author": str}],
                "next_page": int,
            },
        },
        "What people say.",
    ),
    tool(
        "parcel",
        "trace_parcel",
        "tracking_number! carrier!",
        {"events": [{"time": "date-time", "place": str}]},
        "Where a parcel is.",
    ),
]

CLUSTER = [
    tool("kube", "list-namespaces", "", [str], "List namespaces."),
    tool(
        "kube",
        "list-pods",
        "namespace!",
        {"pods": [{"podName": str, "node": str, "phase": str, "ip": "ipv4"}]},
        "List pods.",
    ),
    tool("kube", "get-pod-logs", "namespace! podName! tailLines:integer", {"logs": str}, "Logs of a pod."),
    tool("kube", "delete-pod", "namespace! podName!", {"podName": str, "deleted": bool}, "Delete a pod."),
    tool("kube", "describe-node", "nodeName!", {"nodeName": str, "cpu": str, "memory": str}, "About a node."),
    tool(
        "kube",
        "list-deployments",
        "namespace!",
        {"deployments": [{"name": str, "replicas": int, "image": str}]},
        "List deployments.",
    ),
    tool(
        "kube",
        "scale-deployment",
        "namespace! deployment! replicas:integer!",
        {"name": str, "replicas": int},
        "Scale a deployment.",
    ),
]

MUSIC = [
    tool(
        "music",
        "search_tracks",
        "q! limit:integer",
        {
            "tracks": {
                "items": [
                    {
                        "id": str,
                        "name": str,
                        "uri": "uri",
                        "artists": [{"id": str, "name": str}],
                        "album": {"id": str, "name": str},
                    }
                ]
            }
        },
        "Search for tracks.",
    ),
    tool("music", "get_artist", "artist_id!", {"id": str, "name": str, "genres": [str]}, "Get an artist."),
    tool(
        "music",
        "get_album_tracks",
        "album_id!",
        {"items": [{"id": str, "name": str, "track_number": int}]},
        "Tracks of an album.",
    ),
    tool(
        "music",
        "create_playlist",
        "name! description public:boolean",
        {"id": str, "snapshot_id": str},
        "Make a playlist.",
    ),
    tool(
        "music",
        "add_tracks_to_playlist",
        "playlist_id! track_ids:string[]!",
        {"snapshot_id": str},
        "Put tracks on a playlist.",
    ),
    tool(
        "music",
        "get_recommendations",
        "seed_artists:string[] seed_genres:string[]",
        {"tracks": [{"id": str, "name": str}]},
        "Recommend tracks.",
    ),
    tool("music", "list_genres", "", {"genres": [str]}, "List genres."),
    tool("music", "start_playback", "device_id track_id", {"playing": bool}, "Play."),
    tool(
        "music",
        "list_devices",
        "",
        {"devices": [{"id": str, "name": str, "volume_percent": int}]},
        "List devices.",
    ),
]

STORAGE = [
    tool(
        "bucket",
        "list_buckets",
        "",
        {"Buckets": [{"Name": str, "CreationDate": "date-time"}]},
        "List buckets.",
    ),
    tool(
        "bucket",
        "list_objects",
        "bucket! prefix",
        {"Contents": [{"Key": str, "Size": int, "ETag": str}], "NextContinuationToken": str},
        "List objects of a bucket.",
    ),
    tool("bucket", "get_object", "bucket! key!", {"Body": str, "ContentType": str}, "Get an object."),
    tool(
        "bucket", "presign", "bucket! key! expires:integer", {"url": "uri"}, "Make an address for an object."
    ),
    tool("bucket", "bucket_policy", "bucket_name!", {"policy": str}, "A bucket's policy."),
]

TRAVEL = [
    tool(
        "travel",
        "search_hotels",
        {"city_code!": str, "check_in!": "date", "check_out!": "date"},
        {
            "hotels": [
                {"hotel_id": str, "name": str, "rating": float, "location": {"lat": float, "lng": float}}
            ]
        },
        "Search hotels.",
    ),
    tool(
        "travel",
        "hotel_offers",
        {"hotel_ids!": [str], "check_in!": "date", "check_out!": "date"},
        {"offers": [{"offer_id": str, "hotel_id": str, "price": {"total": str, "currency": str}}]},
        "Offers of hotels.",
    ),
    tool(
        "travel",
        "book_hotel",
        {"offer_id!": str, "guests!": [{"first_name": str, "last_name": str, "email": "email"}]},
        {"booking_id": str, "confirmation_code": str},
        "Book an offer.",
    ),
    tool(
        "travel",
        "find_airport",
        "city!",
        {"airports": [{"iata_code": str, "city_code": str, "name": str}]},
        "Find airports.",
    ),
    tool(
        "travel",
        "search_trips",
        {"origin_airport_code!": str, "destination_airport_code!": str, "date!": "date"},
        {"trips": [{"trip_id": str, "departure_time": "date-time", "price": float}]},
        "Search trips.",
    ),
    tool("travel", "cancel_booking", "booking_id!", {"refunded": bool}, "Cancel a booking."),
    tool(
        "travel",
        "traveller_profile",
        "traveller_id!",
        {"traveller": {"first_name": str, "last_name": str, "email": "email", "passport_number": str}},
        "A traveller's profile.",
    ),
    tool(
        "maps",
        "nearby",
        "lat:number! lng:number! radius:integer",
        {"places": [{"place_id": str, "name": str, "vicinity": str}]},
        "What is near.",
    ),
    tool(
        "maps",
        "place_details",
        "place_id! language",
        {"name": str, "formatted_address": str, "website": "uri", "phone": str},
        "About a place.",
    ),
    tool(
        "maps",
        "geocode_address",
        "address!",
        {"lat": float, "lng": float, "place_id": str},
        "Where an address is.",
    ),
    tool(
        "maps",
        "directions",
        {"origin!": {"lat": float, "lng": float}, "destination!": {"lat": float, "lng": float}},
        {"distance_m": int, "duration_s": int},
        "How to get there.",
    ),
]

PEOPLE = [
    tool(
        "hr",
        "listEmployees",
        "departmentId:integer",
        {"employees": [{"employeeId": int, "fullName": str, "managerId": int, "departmentId": int}]},
        "List employees.",
    ),
    tool(
        "hr",
        "getEmployee",
        "employeeId:integer!",
        {"employeeId": int, "salary": float, "hireDate": "date", "workEmail": "email"},
        "Get an employee.",
    ),
    tool("hr", "listDepartments", "", [{"id": int, "name": str}], "List departments."),
    tool(
        "hr",
        "requestLeave",
        {"employeeId!": int, "startDate!": "date", "endDate!": "date", "leaveType!": {"vacation", "sick"}},
        {"requestId": int, "status": {"pending", "approved"}},
        "Ask for leave.",
    ),
    tool(
        "hr",
        "approveRequest",
        "requestId:integer! comment",
        {"status": {"pending", "approved"}},
        "Approve a request.",
    ),
    tool(
        "hr",
        "listRequests",
        {"status": {"pending", "approved"}},
        {"requests": [{"id": int, "employee": {"id": int, "name": str}, "status": {"pending", "approved"}}]},
        "List requests.",
    ),
    tool(
        "hr",
        "getPayslip",
        "employeeId:integer! month!",
        {"gross": float, "net": float, "pdfUrl": "uri"},
        "A payslip.",
    ),
]

WATCH = [
    tool(
        "watch",
        "list_monitors",
        "",
        [{"monitor_id": int, "name": str, "query": str, "state": str}],
        "List monitors.",
    ),
    tool("watch", "mute_monitor", "monitor_id:integer! until", {"ok": bool}, "Mute a monitor."),
    tool(
        "watch",
        "query_metrics",
        "query! from:integer! to:integer!",
        {"series": [{"metric": str, "points": [[float]]}]},
        "Query metrics.",
    ),
    tool(
        "watch",
        "list_incidents",
        "status",
        {
            "incidents": [
                {"incident_id": str, "title": str, "severity": str, "service": {"id": str, "name": str}}
            ]
        },
        "List incidents.",
    ),
    tool(
        "watch", "resolve_incident", "incident_id! note", {"resolved_at": "date-time"}, "Resolve an incident."
    ),
    tool(
        "watch",
        "get_service",
        "service_id!",
        {"id": str, "name": str, "owner_email": "email"},
        "About a service.",
    ),
]

MORE: list[Ports] = [*TRACKER, *SHOP, *CLUSTER, *MUSIC, *STORAGE, *TRAVEL, *PEOPLE, *WATCH]

MUST = """
tracker.searchIssues tracker.getIssue
tracker.searchIssues tracker.getTransitions
tracker.searchIssues tracker.transitionIssue
tracker.getTransitions tracker.transitionIssue
tracker.searchUsers tracker.assignIssue
tracker.getIssue tracker.assignIssue
tracker.listProjects tracker.createIssue
tracker.createIssue tracker.getIssue
tracker.listSprints tracker.getSprintIssues
tracker.getSprintIssues tracker.getIssue
tracker.getBoard tracker.listSprints
tracker.getBoard tracker.createIssue
shop.find_products shop.product_info
shop.find_products shop.add_to_cart
shop.product_info shop.product_reviews
shop.create_cart shop.add_to_cart
shop.create_cart shop.checkout
shop.list_addresses shop.checkout
shop.checkout shop.track_order
shop.checkout shop.cancel_orders
shop.track_order parcel.trace_parcel
kube.list-namespaces kube.list-pods
kube.list-namespaces kube.get-pod-logs
kube.list-pods kube.get-pod-logs
kube.list-pods kube.delete-pod
kube.list-pods kube.describe-node
kube.list-deployments kube.scale-deployment
music.search_tracks music.get_artist
music.search_tracks music.get_album_tracks
music.search_tracks music.add_tracks_to_playlist
music.create_playlist music.add_tracks_to_playlist
music.get_album_tracks music.add_tracks_to_playlist
music.list_genres music.get_recommendations
music.list_devices music.start_playback
music.get_recommendations music.add_tracks_to_playlist
bucket.list_buckets bucket.list_objects
bucket.list_buckets bucket.bucket_policy
bucket.list_objects bucket.get_object
bucket.list_objects bucket.presign
travel.search_hotels travel.hotel_offers
travel.hotel_offers travel.book_hotel
travel.book_hotel travel.cancel_booking
travel.find_airport travel.search_hotels
travel.find_airport travel.search_trips
travel.traveller_profile travel.book_hotel
travel.search_hotels maps.nearby
maps.nearby maps.place_details
maps.geocode_address maps.nearby
maps.geocode_address maps.place_details
maps.geocode_address maps.directions
maps.place_details maps.geocode_address
hr.listEmployees hr.getEmployee
hr.listEmployees hr.requestLeave
hr.listEmployees hr.getPayslip
hr.listDepartments hr.listEmployees
hr.requestLeave hr.approveRequest
hr.listRequests hr.approveRequest
hr.listRequests hr.getEmployee
watch.list_monitors watch.mute_monitor
watch.list_incidents watch.resolve_incident
watch.list_incidents watch.get_service
"""

NEVER = """
tracker.listProjects tracker.getIssue
tracker.listSprints tracker.getIssue
tracker.searchUsers tracker.getIssue
tracker.getTransitions tracker.getSprintIssues
tracker.getIssue tracker.createIssue
tracker.getTransitions tracker.getIssue
tracker.listProjects tracker.transitionIssue
tracker.searchIssues tracker.listSprints
tracker.searchUsers hr.getEmployee
shop.list_addresses shop.track_order
shop.create_cart shop.track_order
shop.find_products shop.checkout
shop.product_reviews shop.product_info
shop.product_reviews shop.add_to_cart
shop.checkout shop.add_to_cart
shop.checkout hr.approveRequest
shop.track_order shop.checkout
shop.find_products shop.find_products
kube.get-pod-logs kube.list-pods
kube.list-deployments kube.get-pod-logs
kube.list-pods kube.scale-deployment
kube.list-namespaces bucket.list_objects
kube.delete-pod kube.get-pod-logs
kube.describe-node kube.list-pods
kube.list-deployments kube.list-pods
music.list_devices music.get_artist
music.create_playlist music.get_artist
music.get_artist music.get_album_tracks
music.list_devices music.create_playlist
music.search_tracks music.create_playlist
music.list_genres music.get_artist
music.get_recommendations music.search_tracks
bucket.list_objects bucket.list_buckets
bucket.presign bucket.get_object
bucket.get_object watch.query_metrics
bucket.list_buckets music.create_playlist
travel.search_trips travel.book_hotel
travel.search_trips travel.hotel_offers
travel.book_hotel travel.hotel_offers
travel.search_hotels maps.place_details
travel.find_airport travel.book_hotel
travel.hotel_offers travel.search_hotels
maps.directions maps.nearby
maps.nearby travel.hotel_offers
hr.listDepartments hr.getEmployee
hr.listDepartments hr.approveRequest
hr.getPayslip hr.requestLeave
hr.approveRequest hr.listRequests
hr.requestLeave hr.getEmployee
watch.list_monitors watch.query_metrics
watch.list_monitors watch.resolve_incident
watch.list_incidents watch.mute_monitor
watch.get_service watch.resolve_incident
watch.resolve_incident watch.list_incidents
watch.list_incidents tracker.getIssue
"""
