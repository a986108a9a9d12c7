# shellcheck shell=bash disable=SC2154 # scripts/deploy-check sets what is not set here
# Checks deploy/kubernetes: validates the files against the API's schemas, and then runs the pods with podman, including those of
# jobs and cron jobs.

# Starts the database that the secrets name, on the network of the pods.
start_database() {
    podman run --detach --name database --network "$network" --ip "$database_address" --env POSTGRES_USER=owner --env POSTGRES_PASSWORD=owner --env POSTGRES_DB=quakes \
        docker.io/library/postgres:17 > /dev/null
    within 60 podman exec database pg_isready --host=127.0.0.1 --quiet
}
database_sql() { podman exec -i database psql -h /var/run/postgresql -U owner -d quakes -XqAt; }

# secret NAME KEY=VALUE...: creates a Secret of Kubernetes, in the form that podman 4.3 stores.
secret() {
    local name=$1
    shift
    python3 -c '
import base64, json, sys
print(json.dumps({key: base64.b64encode(value.encode()).decode() for key, _, value in (each.partition("=") for each in sys.argv[1:])}), end="")' "$@" |
        podman secret create "$name" - > /dev/null
}

# pod FILE KIND NAME: prints the pod of an object in the file, in a form that podman can run: without ports on this machine, and
# without probes. The pod trusts the certificate of the server that replaces the USGS.
pod() {
    "$kept/validate/bin/python" - "$1" "$2" "$3" "$kept/tls/ca.pem" "$quakes" "$database_address" "$usgs_address" <<'END'
import sys
import yaml
path, kind, name, authority, image, database, usgs = sys.argv[1:]
found = next(each for each in yaml.safe_load_all(open(path)) if each["kind"] == kind)
spec = found["spec"]
template = (spec["jobTemplate"]["spec"] if kind == "CronJob" else spec)["template"]
pod = template["spec"]
pod.setdefault("volumes", [])
pod.pop("topologySpreadConstraints", None)
for container in pod["containers"]:
    container["image"] = image
    container["imagePullPolicy"] = "Never"
    # A kubelet replaces these variables, but podman 4.3 does not.
    for variable, value in ("TRUSTED_PROXY", "10.0.0.0/8"), ("BASE_URL", "https://quakes.example.org"):
        container["args"] = [each.replace(f"$({variable})", value) for each in container["args"]]
    container.pop("ports", None)
    for probe in "readinessProbe", "livenessProbe":
        container.pop(probe, None)
    container.setdefault("env", []).append({"name": "SSL_CERT_FILE", "value": "/authority/ca.pem"})
    container.setdefault("volumeMounts", []).append({"name": "authority", "mountPath": "/authority", "readOnly": True})
pod["volumes"].append({"name": "authority", "hostPath": {"path": authority.rpartition("/")[0], "type": "Directory"}})
pod["hostAliases"] = [{"ip": database, "hostnames": ["database"]}, {"ip": usgs, "hostnames": ["earthquake.usgs.gov"]}]
metadata = {"name": name, "labels": {"app": name}}
print(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}))
END
}
# Prints the exec probes of a file, one command per line.
probes() {
    "$kept/validate/bin/python" - "$1" <<'END'
import json, sys, yaml
for each in yaml.safe_load_all(open(sys.argv[1])):
    for container in each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
        for probe in "readinessProbe", "livenessProbe":
            command = container.get(probe, {}).get("exec", {}).get("command")
            if command:
                print(*command)
END
}
play() { # play FILE KIND NAME [OPTION...]
    pod "deploy/kubernetes/$1.yaml" "$2" "$3" > "$work/$3.yaml" && podman kube play --network "$network" "${@:4}" "$work/$3.yaml"
}
container() { podman ps --all --filter "pod=$1" --format '{{.Names}}' | grep -v -e '-infra$'; }
has_ended() { [ "$(podman inspect --format '{{.State.Status}}' "$(container "$1")")" = exited ]; }
ended_well() { # ended_well NAME
    if within 60 has_ended "$1" && [ "$(podman inspect --format '{{.State.ExitCode}}' "$(container "$1")")" = 0 ]; then return; fi
    podman logs "$(container "$1")" 2>&1 | tail -n 5
    return 1
}
# writes NAME FOLDER...: succeeds if the pod can write to these folders, but to none of the others in the loop.
writes() {
    local name=$1 folder can wanted
    shift
    for folder in / /tmp /var/tmp /var/lib/quakes; do
        can=no
        if podman exec "$(container "$name")" touch "$folder/x" 2> /dev/null; then can=yes; fi
        wanted=no
        case " $* " in *" $folder "*) wanted=yes ;; esac
        [ $can = $wanted ] || { echo "$folder: $can"; return 1; }
    done
}
address() { podman inspect --format "{{(index .NetworkSettings.Networks \"$network\").IPAddress}}" "$(podman ps --filter "pod=$1" --format '{{.Names}}' | grep -e '-infra$')"; }

check_kubernetes() {
    section "Kubernetes"
    if [ ! -x "$kept/validate/bin/kubernetes-validate" ]; then
        { python3 -m venv "$kept/validate" && "$kept/validate/bin/pip" install --quiet kubernetes-validate pyyaml; } > "$work/log" 2>&1 ||
            fail "cannot install kubernetes-validate from PyPI: $(tail -n 3 "$work/log")"
    fi
    local version file
    for version in 1.27 1.34; do
        must "the files are valid for Kubernetes $version" "$kept/validate/bin/kubernetes-validate" -k $version --strict deploy/kubernetes/*.yaml
    done
    must "the database for the pods starts" start_database
    start_usgs
    secret quakes-owner DATABASE_URL=postgresql://owner:owner@database/quakes
    secret quakes-worker DATABASE_URL=postgresql://worker:w@database/quakes
    secret quakes-reader DATABASE_URL=postgresql://reader:r@database/quakes
    secret quakes-notifier DATABASE_URL=postgresql://notifier:n@database/quakes
    cat > "$work/configmap.yaml" <<'END'
apiVersion: v1
kind: ConfigMap
metadata: { name: quakes-serve }
data: { TRUSTED_PROXY: 10.0.0.0/8, BASE_URL: https://quakes.example.org }
END
    must "podman plays migrate.yaml" play migrate Job migrate
    must "migrate.yaml: the job exits with 0" ended_well migrate
    database_sql > /dev/null <<'END'
create role worker login password 'w'; create role reader login password 'r'; create role notifier login password 'n';
grant quakes_writer to worker; grant quakes_reader to reader; grant quakes_notifier, quakes_reader to notifier;
END
    must "podman plays cronjob.yaml" play cronjob CronJob import
    must "cronjob.yaml: the job exits with 0" ended_well import
    must "podman plays prune.yaml" play prune CronJob prune
    must "prune.yaml: the job exits with 0" ended_well prune
    must "podman plays worker.yaml" play worker Deployment worker
    must "podman plays follower.yaml" play follower Deployment follower
    cat > "$work/rules.yaml" <<'END'
apiVersion: v1
kind: ConfigMap
metadata: { name: quakes-rules }
data:
  rules.yaml: |
    receivers: {file: {command: [/bin/sh, -c, "cat >> /tmp/told"]}}
    rules: {all: {magnitude: 4, to: file}}
END
    must "podman plays notify.yaml" play notify Deployment notify --configmap "$work/rules.yaml"
    must "podman plays serve.yaml" play serve Deployment serve --configmap "$work/configmap.yaml"
    local probe
    for file in worker follower notify; do
        while read -r probe; do
            # shellcheck disable=SC2086 # the words of the command
            must "$file.yaml: the probe passes: $probe" within 60 podman exec "$(container $file)" $probe < /dev/null
        done <<< "$(probes "deploy/kubernetes/$file.yaml" | sort -u)"
    done
    must "serve.yaml: /health is 200" within 30 is 200 status "http://$(address serve):8080/health"
    must "serve.yaml: /metrics is 404 on the port of the page, and 200 on its separate port" is "404 200" echo "$(status "http://$(address serve):8080/metrics")" \
        "$(status "http://$(address serve):9464/metrics")"
    must "serve.yaml: the options are those of the ConfigMap" has_options --trusted-proxy 10.0.0.0/8 --base-url https://quakes.example.org
    must "the worker can only write to /tmp" writes worker /tmp
    must "the follower can only write to /tmp and its volume" writes follower /tmp /var/lib/quakes
    must "serve can only write to /var/tmp" writes serve /var/tmp
    must "the notifier can only write to /tmp" writes notify /tmp
    must "the notifier reports an earthquake" pod_tells
    must "all pods run as 10001:10001" is "10001:10001 10001:10001 10001:10001 10001:10001" runs_as worker follower notify serve
    local begin=$SECONDS
    podman stop --time 60 "$(container serve)" > /dev/null
    must "serve drains for 10 s, and exits with 0: $((SECONDS - begin)) s" drained $((SECONDS - begin))
    podman pod rm --all --force > /dev/null 2>&1 || true
    podman rm --all --force --time 2 > /dev/null 2>&1 || true
}
has_options() { tr '\0' ' ' < "/proc/$(podman inspect --format '{{.State.Pid}}' "$(container serve)")/cmdline" | grep -F -e " $* "; }
runs_as() { local name; for name in "$@"; do podman exec "$(container "$name")" bash -c 'echo $UID:$GROUPS'; done | paste -sd' '; }
drained() { [ "$1" -ge 10 ] && [ "$1" -le 15 ] && [ "$(podman inspect --format '{{.State.ExitCode}}' "$(container serve)")" = 0 ]; }
pod_tells() {
    database_sql <<< "insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude) values ('xx1', 'xx', '1', 5, now(), now(), 0, 0)" &&
        within 15 podman exec "$(container notify)" grep -q xx1 /tmp/told
}
