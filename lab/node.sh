#!/bin/sh
# Starts a node of the replicated group: node.sh NAME PORT [PRIMARY PRIMARY_PORT].
# NAME and PORT are what it announces, and others reach through toxiproxy. Its
# configuration is written once, at the first start: later ones go on with what
# Sentinel has made of it (a failover rewrites who replicates whom).
set -eu

conf=/data/redis.conf
if [ ! -s "$conf" ]; then
  printf '%s\n' 'dir /data' 'bind * -::*' 'protected-mode no' 'appendonly yes' 'save ""' \
    'repl-diskless-sync-delay 0' 'repl-timeout 5' 'repl-ping-replica-period 1' \
    "replica-announce-ip $1" "replica-announce-port $2" ${3:+"replicaof $3 $4"} >"$conf"
fi
exec redis-server "$conf"
