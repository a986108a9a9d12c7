# shellcheck shell=bash disable=SC2154,SC2317,SC2016 # scripts/deploy-check sets what is not set here
# Checks the image by itself, with no more rights than Kubernetes and Compose give it.

check_image() {
    section "Image"
    local bare=(podman run --rm --network none --read-only --read-only-tmpfs=false --cap-drop ALL --tmpfs /tmp)
    run() { "${bare[@]}" --entrypoint "$1" "$quakes" "${@:2}"; }
    sample() { "${bare[@]}" "$quakes" sample --count 3 | grep FeatureCollection; }
    libraries() { run ldd /usr/local/bin/quakes > "$work/ldd" && grep -q libpq "$work/ldd" && ! grep 'not found' "$work/ldd"; }
    must "it prints its version" is "$("$stage/quakes" --version)" run quakes --version
    must "it works without a database: quakes sample" sample
    must "every library is there" libraries
    must "it runs as 10001:10001" is '10001:10001' run bash -c 'echo $UID:$GROUPS'
    must "it knows the time zones and the authorities" run test -s /usr/share/zoneinfo/Asia/Tokyo -a -s /etc/ssl/certs/ca-certificates.crt
    must "it is smaller than 250 MB: $(($(podman image inspect --format '{{.Size}}' "$quakes") / 1000000)) MB" \
        test "$(podman image inspect --format '{{.Size}}' "$quakes")" -lt 250000000
}
