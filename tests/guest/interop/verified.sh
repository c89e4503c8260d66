#!/bin/sh
# Has OpenSSL verify the server's certificate, as endpoints do that trust the authority alone.
set -e
openssl verify -x509_strict -CAfile /certs/ca.pem -verify_hostname server4 /certs/cert.pem
exec python3 endpoint.py right
