# shellcheck shell=bash disable=SC2154 # scripts/deploy-check sets what is not set here
# Checks docker-compose.yml with a real Docker Engine. The engine, its networks and its firewall rules are in one container.

engine() { podman exec -i --workdir "$work/project" engine "$@"; }
compose() { engine docker compose -f docker-compose.yml -f "$work/override.yml" "$@"; }
in_engine() { nsenter --target "$(podman inspect --format '{{.State.Pid}}' engine)" --net "$@"; }
compose_services="alertmanager grafana postgres prometheus prune reader serve worker"

health() { compose ps --format '{{.Service}} {{.Health}}' | grep -v '^usgs \|^listener ' | sort; }
all_healthy() {
    # shellcheck disable=SC2086 # prints a line for each service
    is "$(printf '%s healthy\n' $compose_services)" health
}
show() { note "docker compose ps: $(health | paste -sd, | sed 's/,/, /g')"; }
sql() { compose exec -T postgres psql -h /var/run/postgresql -U quakes -d quakes -XqAt -c "$1"; }
inspect() { engine docker inspect --format "$2" "$(compose ps --quiet "$1")"; }
kill_service() { engine kill -9 "$(inspect "$1" '{{.State.Pid}}')"; }
restarts() { inspect "$1" '{{.RestartCount}}'; }

start_engine() {
    podman run --detach --name engine --privileged --cgroupns host --network "$network" --volume engine:/var/lib/docker \
        --volume "$work:$work" --volume "$kept/tls:$kept/tls:ro" localhost/docker:latest \
        sh -c 'rm -f /run/docker.pid /run/docker/containerd/*.pid; exec dockerd --storage-driver overlay2 > /var/log/dockerd.log 2>&1' \
        > "$work/log" 2>&1 || fail "the Docker Engine's container does not start: $(cat "$work/log")"
    within 30 engine docker info > /dev/null 2>&1 || fail "the Docker Engine does not start: $(engine tail -n 5 /var/log/dockerd.log)"
    podman save --multi-image-archive docker.io/library/debian:bookworm-slim docker.io/library/swift:6.3-bookworm docker.io/library/postgres:17 \
        docker.io/prom/prometheus:v3.5.0 docker.io/prom/alertmanager:v0.28.1 docker.io/grafana/grafana:12.0.0 localhost/usgs:latest \
        2> /dev/null | engine docker load > /dev/null
    note "$(engine docker version --format 'Docker Engine {{.Server.Version}}'), Compose $(engine docker compose version --short)"
}

check_compose() {
    section "Compose"
    project
    # Two additional services: usgs replaces the USGS, and listener receives alerts.
    cat > "$work/override.yml" <<END
services:
  usgs:
    image: localhost/usgs:latest
    networks: { default: { aliases: [earthquake.usgs.gov] } }
  listener:
    image: grafana/grafana:12.0.0
    entrypoint: ["sh", "-c", "while :; do busybox nc -l -p 8080 -w 2; done"]
  worker:
    environment: { SSL_CERT_FILE: /ca.pem }
    volumes: ["$kept/tls/ca.pem:/ca.pem:ro"]
END
    start_engine
    local header started rows before command
    header=$(sed -n 's/^#     \((umask .*\)/\1/p' docker-compose.yml)
    must "the command in the header of docker-compose.yml writes the passwords" engine sh -c "$header"
    cp "$work/project/.env" "$work/env"
    must "a second run of this command does not overwrite the passwords" not engine sh -c "$header"
    must "the passwords have not changed" cmp "$work/env" "$work/project/.env"
    must "only the owner of the file can read the passwords" is 600 stat -c %a "$work/project/.env"
    # A password may contain any character.
    sed -i "s/^WORKER_PASSWORD=.*/WORKER_PASSWORD='a\"b\$c\\\\d:e@f'/" "$work/project/.env"
    # This line sets the receiver of alerts.
    sed -i 's,# webhook_configs:.*,webhook_configs: [{ url: "http://listener:8080/alerts" }],; s/group_wait: 30s/group_wait: 1s/' \
        "$work/project/deploy/prometheus/alertmanager.yml"

    started=$SECONDS
    must "docker compose up --build" compose up --build --detach
    must "all services are healthy within 150 s" within 150 all_healthy
    note "The services are healthy $((SECONDS - started)) s after the command"
    show
    while read -r command; do
        # shellcheck disable=SC2086 # the words of the command
        must "docker compose exec $command" compose exec -T $command < /dev/null
    done <<< "$(sed -n 's/^#     docker compose exec //p' docker-compose.yml)"
    must "a second up --build without changes recreates no container" recreates_nothing
    must "there is one image of Quakes" one_image

    must "all ports are only on 127.0.0.1" loopback_only
    must "/metrics is 404 on the port of the catalogue" is 404 in_engine curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/metrics
    must "Prometheus reads the metrics" within 45 asked 9090/api/v1/targets '"health":"up"'
    must "Prometheus finds the Alertmanager" within 30 asked 9090/api/v1/alertmanagers http://alertmanager:9093/
    must "only the services that set up the schema have the owner's password" is "logins migrate postgres" owners
    must "the login for pruning is not a superuser" is f sql "select rolsuper from pg_roles where rolname = 'prune'"
    must "Grafana has the admin's password from .env, the data sources and the dashboards" grafana_is_set_up
    must "520 streams from 250 addresses in X-Forwarded-For all get an answer" \
        in_engine python3 "$parts/flood.py" 127.0.0.1 8080 520 250
    must "with the profile notify, an earthquake is reported" service_tells

    reject
    must "an alert fires within 60 s of a reject" within 60 asked 9093/api/v2/alerts QuakesRejects
    must "the alert is sent to the webhook" within 30 is_told

    rows=$(sql 'select count(*) from quake') || rows=0
    before=$(restarts postgres) || before=0
    kill_service postgres
    must "postgres is restarted after kill -9" within 30 has_restarted postgres "$before"
    must "all services are healthy within 120 s" within 120 all_healthy
    show
    for service in worker serve reader; do
        before=$(restarts $service) || before=0
        kill_service $service
        must "$service is restarted after kill -9" within 30 has_restarted $service "$before"
    done
    must "all services are healthy within 150 s" within 150 all_healthy
    show
    must "postgres can be restarted" compose restart postgres
    must "all services are healthy within 120 s" within 120 all_healthy
    show
    must "docker compose down and up removes the services and starts them again" down_and_up
    must "all services are healthy within 150 s" within 150 all_healthy
    must "no row is lost" test "$(sql 'select count(*) from quake')" -ge "$rows"
    show
    must "the machine with the engine is restarted" podman restart --time 30 engine
    must "all services are healthy within 180 s" within 180 all_healthy
    must "no row is lost" test "$(sql 'select count(*) from quake')" -ge "$rows"
    show

    cat > "$work/broken.yml" <<'END'
services:
  prune:
    command: ["quakes", "prune", "--keep", "90d", "--database", "postgresql://nobody@postgres/quakes"]
END
    compose -f "$work/broken.yml" up --detach --no-deps prune > /dev/null 2>&1
    must "if pruning fails, the service prune is unhealthy within 150 s" within 150 is "prune unhealthy" health_of prune
    podman rm --force --time 5 engine > /dev/null 2>&1
    podman volume rm --force engine > /dev/null 2>&1
}

health_of() { health | grep "^$1 "; }
recreates_nothing() {
    compose up --build --detach > "$work/up" 2>&1 || return 1
    ! grep -E 'Recreat|Stopp' "$work/up"
}
one_image() { [ "$(engine docker images --no-trunc --quiet --filter label=org.opencontainers.image.title=quakes | sort -u | wc -l)" = 1 ]; }
loopback_only() {
    engine ss -ltnH | awk '{ print $4 }' > "$work/ports"
    grep -q ':8080$' "$work/ports" && ! grep -v '^127\.0\.0\.1:' "$work/ports"
}
asked() { in_engine curl -s "http://127.0.0.1:$1" > "$work/answer"; cut -c1-300 "$work/answer"; grep -qF "$2" "$work/answer"; }
owners() {
    compose config --format json | python3 -c '
import json, sys
services = json.load(sys.stdin)["services"]
owner = services["postgres"]["environment"]["POSTGRES_PASSWORD"]
print(*sorted(name for name, each in services.items() if owner in (each.get("environment") or {}).values()))'
}
grafana_is_set_up() {
    # shellcheck disable=SC2016 # the shell in the container expands the variable
    compose exec -T grafana sh -c 'echo "$GF_SECURITY_ADMIN_PASSWORD"; cd /etc/grafana && cat provisioning/datasources/quakes.yaml dashboards/*.json > /dev/null &&
        ls provisioning/dashboards dashboards' > "$work/grafana" || return 1
    grep -qx "$(sed -n 's/^GRAFANA_PASSWORD=//p' "$work/project/.env")" "$work/grafana" && grep -qx service.json "$work/grafana"
}
# Imports a broken feature, but first gives Prometheus the time to record that there were no rejects.
reject() {
    sleep 20
    echo '{"type":"FeatureCollection","features":[{"type":"Feature","id":"x"}]}' | compose exec -T worker quakes import - > /dev/null 2>&1 || true
}
is_told() { compose logs listener 2>&1 | grep -q 'QuakesRejects'; }
has_restarted() { [ "$(restarts "$1")" -gt "$2" ]; }
down_and_up() { compose down && compose up --detach; }
service_tells() {
    mkdir -p "$work/project/rules"
    cat > "$work/project/rules/rules.yaml" <<'END'
receivers: {file: {command: [/bin/sh, -c, "cat >> /tmp/told"]}}
rules: {all: {magnitude: 4, to: file}}
END
    compose --profile notify up --detach notify > /dev/null 2>&1 || return 1
    within 60 is t sql 'select decided_at is not null from notify.state' || return 1
    sql "insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude) values ('xx1', 'xx', '1', 5, now(), now(), 0, 0)" || return 1
    within 15 compose --profile notify exec -T notify grep -q xx1 /tmp/told < /dev/null &&
        compose --profile notify exec -T notify quakes status --max-lag 5m --reader notify < /dev/null > /dev/null
    local result=$?
    compose --profile notify rm --stop --force notify > /dev/null 2>&1
    sql "delete from quake where code = 'xx1'"
    return $result
}
