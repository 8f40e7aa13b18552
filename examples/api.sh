#!/bin/sh
# Sends one request to placet with curl, and prints the answer:  examples/api.sh METHOD PATH [JSON]
#
#     examples/api.sh GET /resource_providers
#     examples/api.sh POST /resource_providers '{"name": "host1"}'
#
# PLACET_URL is the service (http://127.0.0.1:8778), PLACET_TOKEN the token (admin).
set -eu

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
fi
exec curl --silent --show-error --write-out '\n' --request "$1" \
    --header "X-Auth-Token: ${PLACET_TOKEN:-admin}" \
    --header 'OpenStack-API-Version: placement latest' \
    --header 'Content-Type: application/json' \
    ${3:+--data "$3"} "${PLACET_URL:-http://127.0.0.1:8778}$2"
