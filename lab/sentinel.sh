#!/bin/sh
# Starts a Sentinel: sentinel.sh NAME PORT. The Sentinel announces NAME and PORT; other
# members reach them through toxiproxy. It watches the group "lab", whose first primary is
# n0. Only the first start writes the configuration, because Sentinel keeps its state in
# this file (it requires a configuration file that it may rewrite).
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
