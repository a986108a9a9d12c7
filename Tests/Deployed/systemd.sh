# shellcheck shell=bash disable=SC2154 # scripts/deploy-check sets what is not set here
# Checks the package on a machine with systemd, with the three commands from docs/operating.md.

on() { podman exec -i --env DEBIAN_FRONTEND=noninteractive --env LC_ALL=C.UTF-8 machine "$@"; }
on_sh() { on bash -c "$1"; }
in_machine() { nsenter --target "$(podman inspect --format '{{.State.Pid}}' machine)" --net "$@"; }
units="quakes-worker.service quakes-serve.socket quakes-serve.service quakes-follow@mine.service"
# shellcheck disable=SC2086 # an argument for each
are_active() { is "$(printf 'active\n%.0s' $units)" on systemctl is-active $units; }
ask() { in_machine curl -s -m 10 -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:8080$1"; }

make_package() {
    podman run --rm --network host --volume "$work:$work" --volume "$stage:$stage:ro" docker.io/library/debian:bookworm-slim bash -c "
        set -e; cp -a $work/project /source; mkdir -p /source/.build; cp -a $stage /source/.build/stage; apt-get update -qq; cd /source
        apt-get install -qq -y --no-install-recommends libcurl4-openssl-dev libpq-dev libsqlite3-dev libxml2-dev pkg-config zlib1g-dev
        scripts/deb; cp .build/deb/quakes_*.deb $work/quakes.deb"
}

# Starts the machine, installs the package and enables its services. This section and the next one share the machine.
start_machine() {
    if podman container exists machine; then return; fi
    project
    start_usgs
    podman run --detach --name machine --privileged --systemd=always --network "$network" --add-host "earthquake.usgs.gov:$usgs_address" --volume "$work:$work:ro" --volume "$kept/tls:$kept/tls:ro" \
        localhost/machine:latest > /dev/null
    [ -e "$work/quakes.deb" ] || must "scripts/deb makes the package on a Debian without build-essential" make_package
    must "systemd is running" within 30 on_sh 'systemctl is-system-running | grep -E "running|degraded"'
    on_sh "find / -xdev \( -path /proc -o -path /run -o -path /tmp -o -path /sys -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
        -o -path '$work' \) -prune -o -name '*quakes*' -print | sort > /root/before"
    on_sh "apt-get update -qq && cp '$work/quakes.deb' /root/quakes_check.deb && chmod 644 /root/*.deb"
    local command
    while read -r command; do
        must "$command" on_sh "cd /root && mkdir -p .build/deb && ln -sf /root/quakes_check.deb .build/deb/ &&
            ${command/apt install/apt-get install -y}" < /dev/null
    done <<< "$(sed -n '/^## Three commands/,/^## Secrets/s/^    \(sudo .*\)/\1/p' docs/operating.md)"
}

# hammer COUNT PATH: makes COUNT requests, one after the other, and prints how often each status was returned.
hammer() { for _ in $(seq "$1"); do ask "$2"; sleep 0.05; done | sort | uniq -c | sed 's/^ *//'; }
over() { # over COUNT COMMAND...: makes COUNT requests while the command runs, and succeeds if all answers are 200
    local count=$1 answers
    shift
    hammer "$count" /fdsnws/event/1/count > "$work/answers" &
    answers=$!
    sleep 0.5
    "$@" > "$work/over" 2>&1 || { cat "$work/over"; wait $answers; return 1; }
    wait $answers
    is "$count 200" cat "$work/answers"
}
journal() { on journalctl --quiet --no-pager --output cat --unit 'quakes*' "$@"; }
complaints() { { journal --priority err; journal | grep -F -e Failed -e 'descriptor 3'; } || true; }
# Prints the lines of a unit's log that are not JSON, without systemd's messages about the unit.
texts() { on journalctl --quiet --no-pager --output json --unit "$1" | python3 -c '
import json, sys
for line in sys.stdin:
    each = json.loads(line)
    if each.get("_TRANSPORT") == "stdout" and not str(each["MESSAGE"]).startswith("{"):
        print(each["MESSAGE"])'; }
logs_json() { is '' texts "$1" && on journalctl --quiet --no-pager --output cat --unit "$1" | grep -c '^{'; }
revive() {
    local name
    for name in quakes-worker quakes-serve quakes-follow@mine; do
        on_sh "kill -9 \$(systemctl show -p MainPID --value $name)"
    done
    sleep 13
    for name in quakes-worker quakes-serve quakes-follow@mine; do
        is "NRestarts=1 ActiveState=active" on_sh "systemctl show -p NRestarts -p ActiveState $name | paste -sd' '" || return 1
    done
}
exposure() {
    on systemd-analyze security --no-pager 2> /dev/null | grep '^quakes-' > "$work/exposure"
    cat "$work/exposure"
    [ "$(wc -l < "$work/exposure")" -ge 3 ] && awk '$2 > 1.5 { wrong = 1 } END { exit wrong }' "$work/exposure"
}
raw_units() {
    on_sh "install -m 755 /usr/bin/quakes /usr/local/bin/quakes && cp '$work'/project/deploy/quakes-*.{service,socket,timer} /etc/systemd/system/ &&
        mkdir -p /root/env && cp -p /etc/quakes*.env /root/env/ &&
        sudo -u postgres psql -q quakes -c \"create role w login password 'w'; create role r login password 'r'; create role p login password 'p';
            grant quakes_writer to w; grant quakes_reader to r; grant quakes_owner to p\" &&
        for each in :w -serve:r -follow:r -prune:p; do printf 'DATABASE_URL=postgresql://%s@127.0.0.1/quakes\nPGPASSWORD=%s\n' \${each#*:} \${each#*:} \
            > /etc/quakes\${each%:*}.env; done && systemctl daemon-reload && systemctl restart $units &&
        systemctl start quakes-import quakes-prune && sleep 4" || return 1
    are_active && is yes on_sh "systemctl show -p DynamicUser --value quakes-serve.service" && is 200 ask /health
    local result=$?
    on_sh "systemctl stop $units; rm -f /etc/systemd/system/quakes-*.{service,socket,timer} /usr/local/bin/quakes; cp -p /root/env/* /etc/
        rm -rf /var/lib/quakes-follow /var/lib/private/quakes-follow; systemctl daemon-reload; systemctl restart $units"
    return $result
}
purged() {
    on_sh "find / -xdev \( -path /proc -o -path /run -o -path /tmp -o -path /sys -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /root \
        -o -path '$work' \) -prune -o -name '*quakes*' -print | sort > /root/after; diff /root/before /root/after; getent passwd | grep quakes; getent group | grep quakes;
        systemctl list-units --failed --no-legend --plain; systemctl list-unit-files --no-legend 'quakes*'" > "$work/left"
    cat "$work/left"
    [ ! -s "$work/left" ]
}

check_systemd() {
    section "systemd, with the package"
    start_machine
    must "all four units are active within 8 s" within 8 are_active
    sleep 5
    must "no unit has failed" is '' on systemctl list-units --failed --no-legend --plain
    must "the journal has no errors" is '' complaints
    must "each line of the worker's log is JSON" logs_json quakes-worker.service
    must "each line of serve's log is JSON" logs_json quakes-serve.service
    must "the timers' services exit with 0" on systemctl start quakes-import.service quakes-prune.service
    must "each line of the import's log is JSON" logs_json quakes-import.service
    must "the page is served" is 200 ask /
    must "the socket can queue 1,024 connections" is 1024 on_sh "ss -ltnH 'sport = :8080' | awk '{ print \$3 }'"
    must "quakes status works as documented" on_sh "sudo -u quakes env DATABASE_URL=postgresql:///quakes quakes status"
    must "the notifier reports an earthquake, with the rights of its unit" unit_tells
    must "a request starts a service that was stopped" started_by_request
    on systemctl stop quakes-serve.service
    must "1,000 simultaneous connections are accepted while the service starts" in_machine python3 "$parts/rush.py" 8080 1000
    must "100 requests during a restart get 200" over 100 on systemctl restart quakes-serve.service
    must "eight restarts in a row do not stop the socket" eight_restarts
    must "after kill -9 of worker, serve and follower, each is restarted once, and active after 13 s" revive
    must "without PostgreSQL, /health is 503" database_away
    must "/health is 200 within 6 s of the start of PostgreSQL" within 6 is 200 ask /health
    must "systemd-analyze rates the exposure of each unit at 1.5 or less" exposure
    must "after a reboot, all units are active within 30 s" rebooted
    sleep 5
    must "the journal of this boot has no errors" is '' complaints --boot
    must "the unmodified units of deploy/ run with dynamic users" raw_units
    must "each configuration file has mode 640 and owner root:USER, and explains its settings" configured
    must "a unit that no command enables is disabled" is disabled on_sh 'systemctl is-enabled quakes-import.timer || true'
    must "a reader's login may not write" may_not_write
    on_sh 'echo "# the administrator was here" >> /etc/quakes.env'
    must "60 requests while the package is installed again get 200" over 60 on apt-get install -y --reinstall /root/quakes_check.deb
    must "the new installation keeps the administrator's changes" on grep -q 'the administrator was here' /etc/quakes.env
    must "the new installation keeps the modes and owners of the configuration" configured
    must "the package has the files that its documents name" has_files proxies/nginx.conf prometheus/alerts.yaml \
        grafana/service.json kubernetes/serve.yaml
    must "the package can be removed" on apt-get remove -y quakes
    must "the removal keeps the configuration" on test -e /etc/quakes.env
    must "the package can be purged" on apt-get purge -y quakes
    must "after the purge, only the database is left" purged
    podman rm --force --time 5 machine usgs > /dev/null 2>&1
}
configured() {
    local user
    for user in quakes quakes-serve quakes-follow quakes-notify quakes-prune; do
        is "640 root:$user" on stat -c '%a %U:%G' "/etc/$user.env" && on grep -q '^# .*db\.example\.org' "/etc/$user.env" || return 1
    done
}
may_not_write() {
    on_sh "sudo -u quakes-serve psql -Xq quakes -c 'delete from quake' 2>&1" > "$work/refused"
    grep 'permission denied' "$work/refused"
}
# Checks the list of files in the package, because a minimal Debian does not install documentation.
has_files() {
    local file
    on dpkg-deb --contents /root/quakes_check.deb > "$work/contents"
    for file in "$@"; do grep " ./usr/share/doc/quakes/deploy/$file\$" "$work/contents" || { echo "$file is missing"; return 1; }; done
}
unit_tells() {
    on_sh "mkdir -p /etc/quakes && printf '%s\n' 'receivers: {file: {command: [/bin/sh, -c, \"cat >> /var/lib/quakes-notify/told\"]}}' \
        'rules: {all: {magnitude: 4, to: file}}' > /etc/quakes/rules.yaml && systemctl start quakes-notify" || return 1
    within 10 is t on_sh "sudo -u postgres psql -XqAt quakes -c 'select decided_at is not null from notify.state'" || return 1
    on_sh "sudo -u postgres psql -Xq quakes -c \"insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
        values ('xx1', 'xx', '1', 5, now(), now(), 0, 0)\"" || return 1
    within 10 on_sh "grep -q xx1 /var/lib/quakes-notify/told"
    local result=$?
    on_sh "systemctl reload quakes-notify && systemctl stop quakes-notify && rm -r /etc/quakes &&
        sudo -u postgres psql -Xq quakes -c \"delete from quake where code = 'xx1'\"" || return 1
    return $result
}
started_by_request() { on systemctl stop quakes-serve.service; is 200 ask / && within 5 is 200 ask /health; }
eight_restarts() {
    for _ in 1 2 3 4 5 6 7 8; do on systemctl restart quakes-serve.service || return 1; done
    within 5 is 200 ask /health && is active on systemctl is-active quakes-serve.socket
}
database_away() { on_sh 'systemctl stop postgresql@15-main'; within 40 is 503 ask /health; local result=$?; on_sh 'systemctl start postgresql@15-main'; return $result; }
rebooted() { podman restart --time 20 machine > /dev/null && within 30 are_active; }
