# RedLock over redis-py, on several independent nodes, as redis.io describes it ("Distributed Locks with Redis").
#   apt-get install python3-redis
#   lockstorm run --client '/usr/bin/python3 examples/any-language/redlock.py' --faults all
import json, os, sys, time
import redis

# How long to wait for one node, in seconds: short, since nodes that are down must not use up the lease.
WAIT = min(0.05, int(os.environ["LOCKSTORM_TIMEOUT_MS"]) / 1000)
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

nodes = []
for addr in os.environ["LOCKSTORM_ADDRS"].split(","):
    host, port = addr.split(":")
    nodes.append(redis.Redis(host, int(port), socket_timeout=WAIT))
QUORUM = len(nodes) // 2 + 1
held = {}  # keys and tokens by the id of the acquire that took them


def ask(command):
    """Runs the command on each node in turn; counts the nodes that did it, and those that did not answer."""
    done = silent = 0
    for node in nodes:
        try:
            done += bool(command(node))
        except redis.RedisError:  # nobody knows whether this node ran it
            silent += 1
    return done, silent


def acquire(id, key, ttl):
    token = os.urandom(16).hex()
    start = time.monotonic()
    granted, silent = ask(lambda node: node.set(key, token, nx=True, px=ttl))
    drift = ttl // 100 + 2  # clocks of nodes may run faster than this one
    until = ttl - int((time.monotonic() - start) * 1000) - drift
    if granted >= QUORUM and until > 0:
        held[id] = key, token
        return {"token": token, "until": until}
    release(key, token)
    if granted + silent < QUORUM:  # a majority has refused
        return {"error": "busy"}
    return {"error": "granted by %d nodes, %d did not answer" % (granted, silent)}


def release(key, token):
    return ask(lambda node: node.eval(RELEASE, 1, key, token))


def serve(q):
    if q["do"] == "acquire":
        return acquire(q["id"], q["key"], q["ttl"])
    done, silent = release(*held[q["lease"]])
    if done >= QUORUM:
        return {}
    if done + silent < QUORUM:  # no majority can have had the token
        return {"error": "not-held"}
    return {"error": "released on %d nodes, %d did not answer" % (done, silent)}


def answer(line):
    print(json.dumps(line), flush=True)


answer({"ready": True, "until": True, "independent": True})
for q in map(json.loads, sys.stdin):
    try:
        answer({"id": q["id"], **serve(q)})
    except Exception as e:  # nobody knows what has happened
        answer({"id": q["id"], "error": repr(e)})
