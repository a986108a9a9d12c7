# quakes serve behind Varnish, which keeps answers and asks once for all who ask the same: /etc/varnish/default.vcl
#
#     quakes serve --listen 127.0.0.1:8080 --trusted-proxy 127.0.0.1 --base-url http://quakes.example.org …
#
# Varnish names the client in X-Forwarded-For by itself. It sets no limits.
vcl 4.1;

backend default {
    .host = "127.0.0.1";
    .port = "8080";
    # A long poll takes 60 s at most, and a stream is never silent for longer than 20 s.
    .first_byte_timeout = 75s;
    .between_bytes_timeout = 75s;
}

sub vcl_recv {
    # Metrics name sources and readers: Prometheus asks the service itself. Also below a base path.
    if (req.url ~ "^[^?]*/metrics(\?|$)") {
        return (synth(404));
    }
    # A stream has no end, so no request may wait for another's. Long polls (wait) end.
    if (req.url ~ "/changes(\?|$)" && req.url !~ "[?&]wait=") {
        return (pass);
    }
}

sub vcl_backend_response {
    # No answer is older than its Cache-Control allows.
    set beresp.grace = 0s;
}
