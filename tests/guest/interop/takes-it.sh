#!/bin/sh
# Starts as the start scripts of endpoints do.
set -e
/setup.sh
/wait-for-it.sh sim:57832 -s -t 30
exec python3 endpoint.py takes-it
