"""What passes between clients and servers: questions, results as they came, announcements.

`client` is the client behind a request, which servers may ask things in both protocol eras; `requests` answers one request,
and parks it where a client of the newer era has to repeat it with an answer. `results` passes results on as they came, and
`changes` tells clients what servers announce. Names are in `halflap.server.all_servers`; policy, records and connections are
below, in `halflap.gateway` and `halflap.upstream`.
"""
