# Configuration of Varnish in front of quakes serve: /etc/varnish/default.vcl. Varnish caches responses, and sends only one of
# several equal requests to the service.
#
#     quakes serve --listen 127.0.0.1:8080 --trusted-proxy 127.0.0.1 --base-url http://quakes.example.org …
#
# Varnish adds the client's address to X-Forwarded-For automatically. This configuration does not limit clients.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "8080";
    # A long poll takes 60 s at most, and a stream is never silent for longer than 20 s.
    .first_byte_timeout = 75s;
    .between_bytes_timeout = 75s;
}

sub vcl_recv {
    # Metrics contain the names of sources and readers, so they are not public: Prometheus requests them from the service
    # directly. The rule also matches below a base path.
    if (req.url ~ "^[^?]*/metrics(\?|$)") {
        return (synth(404));
    }
    # A stream has no end, so a request must not wait for another client's stream. Long polls (with the parameter wait) do end.
    if (req.url ~ "/changes(\?|$)" && req.url !~ "[?&]wait=") {
        return (pass);
    }
}

sub vcl_backend_response {
    # No response is served for longer than its Cache-Control allows.
    set beresp.grace = 0s;
}
