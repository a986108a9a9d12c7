# shellcheck shell=bash disable=SC2154,SC2317,SC2016 # scripts/deploy-check sets what is not set here
# Checks the image without other services, with no more rights than it has in Kubernetes and Compose.

check_image() {
    section "Image"
    local bare=(podman run --rm --network none --read-only --read-only-tmpfs=false --cap-drop ALL --tmpfs /tmp)
    run() { "${bare[@]}" --entrypoint "$1" "$quakes" "${@:2}"; }
    sample() { "${bare[@]}" "$quakes" sample --count 3 | grep FeatureCollection; }
    libraries() { run ldd /usr/local/bin/quakes > "$work/ldd" && grep -q libpq "$work/ldd" && ! grep 'not found' "$work/ldd"; }
    must "quakes --version prints the version" is "$("$stage/quakes" --version)" run quakes --version
    must "quakes sample works without a database" sample
    must "no library is missing" libraries
    must "the image runs as 10001:10001" is '10001:10001' run bash -c 'echo $UID:$GROUPS'
    must "the image has time zones and certificate authorities" run test -s /usr/share/zoneinfo/Asia/Tokyo -a -s /etc/ssl/certs/ca-certificates.crt
    must "the image is smaller than 250 MB: $(($(podman image inspect --format '{{.Size}}' "$quakes") / 1000000)) MB" \
        test "$(podman image inspect --format '{{.Size}}' "$quakes")" -lt 250000000
}
