#!/bin/sh
# A master, n0 to n4 for Lockstorm's trials. Its directory is one of this machine's:
# while a trial runs there, with the trial's configuration.
set -eu
cd /data
[ ! -f redis.conf ] || exec redis-server redis.conf
exec redis-server --protected-mode no --appendonly yes --save ""
