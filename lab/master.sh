#!/bin/sh
# Starts a master of the lab, one of n0 to n4 in Lockstorm's trials. /data is a directory
# of the host. A trial writes its own redis.conf there; without it, the lab's options apply.
set -eu
cd /data
[ ! -f redis.conf ] || exec redis-server redis.conf
exec redis-server --protected-mode no --appendonly yes --save ""
