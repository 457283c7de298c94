#!/bin/sh
# Starts a node of the replicated group: node.sh NAME PORT [PRIMARY PRIMARY_PORT].
# The node announces NAME and PORT; other members reach them through toxiproxy. Only the
# first start writes the configuration. Later starts keep Sentinel's changes: a failover
# rewrites which node replicates which.
set -eu

conf=/data/redis.conf
if [ ! -s "$conf" ]; then
  printf '%s\n' 'dir /data' 'bind * -::*' 'protected-mode no' 'appendonly yes' 'save ""' \
    'repl-diskless-sync-delay 0' 'repl-timeout 5' 'repl-ping-replica-period 1' \
    "replica-announce-ip $1" "replica-announce-port $2" ${3:+"replicaof $3 $4"} >"$conf"
fi
exec redis-server "$conf"
