#!/bin/sh
# Starts a Sentinel: sentinel.sh NAME PORT, what it announces, and others reach
# through toxiproxy. It watches the group "lab", whose primary is n0 at first.
# Its configuration is written once, at the first start: Sentinel keeps its
# state there. (It takes no configuration but from a file that it may rewrite.)
set -eu

conf=/data/sentinel.conf
if [ ! -s "$conf" ]; then
  printf '%s\n' 'dir /data' 'port 26379' \
    'sentinel resolve-hostnames yes' 'sentinel announce-hostnames yes' \
    "sentinel announce-ip $1" "sentinel announce-port $2" \
    'sentinel monitor lab n0 21100 2' \
    'sentinel down-after-milliseconds lab 1000' 'sentinel failover-timeout lab 3000' >"$conf"
fi
exec redis-sentinel "$conf"
