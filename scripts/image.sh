#!/usr/bin/env bash
# Builds the image of the Containerfile from the wheels in dist/, with podman or docker, and says how large it is.
# Options are given on to their `build`, such as --build-arg BASE=… for another Debian.
set -euo pipefail

REPO="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
NAME=${NETWARP_IMAGE:-netwarp}

# The image's layers, each compressed by itself, as a registry has them; docker writes none of that, so there all as one.
compressed() {
    if [[ $1 == podman ]]; then podman save --quiet --format oci-archive "$NAME"; else docker save "$NAME" | gzip; fi
}

for builder in podman docker; do
    if command -v "$builder" >/dev/null && "$builder" info >/dev/null 2>&1; then
        compgen -G "$REPO/dist/netwarp_kernel-*.whl" >/dev/null || {
            echo "image: dist/ has no wheels: make wheel" >&2
            exit 1
        }
        "$builder" build --tag "$NAME" --file "$REPO/Containerfile" "$@" "$REPO"
        echo "image: $NAME, $(compressed "$builder" | wc -c | awk '{ printf "%.0f", $1 / 1e6 }') MB to download"
        exit
    fi
done
echo "image: there is neither podman nor docker that works here; install one (Debian: apt-get install podman)" >&2
exit 1
