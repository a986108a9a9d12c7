# shellcheck shell=bash disable=SC2154 # scripts/deploy-check sets what is not set here
# Checks the proxies in deploy/proxies in front of the page, with browsers. Each file is installed at the path in its first line.

# serve_with OPTION...: writes these options into the environment file of the service behind a proxy, and restarts the service.
serve_with() {
    on_sh "sed -i '/^SERVE_OPTIONS=/d' /etc/quakes-serve.env && echo 'SERVE_OPTIONS=$*' >> /etc/quakes-serve.env && systemctl restart quakes-serve.service"
    within 15 is 200 ask /health
}
through() { # through PATH: prints the status of an answer through the proxy, over HTTPS, or over HTTP for Varnish
    case $proxy in
    varnish) in_machine curl -s -m 10 --path-as-is -o /dev/null -w '%{http_code}' "http://127.0.0.1:6081$1" ;;
    *) in_machine curl -s -m 10 --path-as-is --cacert "$kept/tls/ca.pem" --resolve quakes.example.org:443:127.0.0.1 -o /dev/null \
        -w '%{http_code}' "https://quakes.example.org$1" ;;
    esac
}
over_ipv6() {
    case $proxy in
    varnish) in_machine curl -s -m 10 -o /dev/null -w '%{http_code}' "http://[::1]:6081/" ;;
    *) in_machine curl -s -m 10 --cacert "$kept/tls/ca.pem" --resolve 'quakes.example.org:443:[::1]' -o /dev/null -w '%{http_code}' https://quakes.example.org/ ;;
    esac
}
closed() {
    local path
    for path in "$@"; do is 404 through "$path" || return 1; done
}
start_proxy() {
    proxy=$1
    on systemctl stop nginx haproxy varnish
    on systemctl start "$proxy" && within 10 is 200 through /health
}
# A cached answer for all clients must not contain a host from one client's request.
not_poisoned() {
    local port=80
    [ "$proxy" != varnish ] || port=6081
    in_machine curl -s -m 10 -H 'Host: evil.example' "http://127.0.0.1:$port/earthquakes/feed/v1.0/summary/all/all_hour.atom" > /dev/null
    in_machine curl -s -m 10 -H 'Host: quakes.example.org' "http://127.0.0.1:$port/earthquakes/feed/v1.0/summary/all/all_hour.atom" > "$work/feed"
    grep -q '<feed' "$work/feed" && ! grep evil "$work/feed"
}

check_proxies() {
    section "Proxies, with browsers"
    start_machine
    must "Debian's nginx, haproxy and varnish can be installed" on_sh "apt-get update -qq; apt-get install -y -qq --no-install-recommends nginx haproxy varnish;
        systemctl disable --now nginx haproxy varnish; rm -f /etc/nginx/sites-enabled/default;
        cp '$kept/tls/server.pem' /etc/ssl/quakes.pem; cp '$kept/tls/quakes.key' /etc/ssl/quakes.key; chmod 600 /etc/ssl/quakes.*;
        cd '$work/project/deploy/proxies' && cp nginx.conf /etc/nginx/conf.d/quakes.conf && cp haproxy.cfg /etc/haproxy/haproxy.cfg && cp varnish.vcl /etc/varnish/default.vcl"
    must "nginx accepts its file" on nginx -t
    must "haproxy accepts its file" on haproxy -c -f /etc/haproxy/haproxy.cfg
    must "varnish accepts its file" on varnishd -C -f /etc/varnish/default.vcl

    local address count
    address=$(podman inspect --format "{{(index .NetworkSettings.Networks \"$network\").IPAddress}}" machine)
    must "the service starts with the options for a proxy" serve_with --trusted-proxy 127.0.0.1 --base-url https://quakes.example.org
    for proxy in nginx haproxy varnish; do
        must "$proxy starts, and answers" start_proxy "$proxy"
        must "$proxy answers over IPv6" is 200 over_ipv6
        must "$proxy: /metrics is not accessible" closed /metrics /metrics? '/metrics?x=1' //metrics /%6detrics /./metrics /page/../metrics
    done
    must "nginx answers as the user www-data" serves_as nginx www-data
    must "haproxy answers as the user haproxy" serves_as haproxy haproxy
    for proxy in nginx haproxy; do
        start_proxy $proxy
        for count in 1 6 12; do
            must "$proxy: $count visitors behind one address, first load and reload" python3 "$parts/browse.py" $count https://quakes.example.org/ "$address"
            note "$(tail -n 1 "$work/said")"
            sleep 10 # until the limits no longer count the requests of these visitors
        done
    done
    must "the service starts with a base path" serve_with --trusted-proxy 127.0.0.1 --base-url https://quakes.example.org/quakes
    for proxy in nginx haproxy varnish; do
        start_proxy "$proxy"
        must "$proxy: /metrics is not accessible below the base path either" closed /quakes/metrics '/quakes/metrics?x' /quakes//metrics /quakes/%6detrics /quakes/x/../metrics /metrics
        must "$proxy: the page is accessible" is 200 through /quakes/
    done
    must "the service starts without a base URL" serve_with --trusted-proxy 127.0.0.1
    for proxy in nginx varnish; do
        start_proxy "$proxy"
        must "$proxy: a host from one client's request is in no answer to other clients" not_poisoned
    done
    on_sh 'systemctl stop nginx haproxy varnish; rm -rf /var/cache/nginx-quakes'
    podman rm --force --time 5 machine usgs > /dev/null 2>&1
}
# serves_as PROXY USER: succeeds if the proxy's worker processes, which answer, run as this user. Their parent may run as root.
serves_as() {
    start_proxy "$1"
    on_sh "pid=\$(systemctl show --property MainPID --value $1); ps -o user:20= --ppid \$pid | sort -u | tr -d ' '" > "$work/users"
    cat "$work/users"
    [ "$(cat "$work/users")" = "$2" ]
}
