"""What passes through between clients and servers besides Halflap's own tools.

`peer` is the client behind a request, which servers may ask things in both protocol eras; `requests` answers one request,
and parks it where a client of the newer era has to repeat it with an answer. `results` passes results on as they came.
`routes` finds the server behind a prompt or a resource, in the aggregate or for a single server; `handlers` answers
requests for them, and `changes` tells clients what servers announce. Policy, records and connections are below, in
`halflap.gateway` and `halflap.upstream`.
"""
