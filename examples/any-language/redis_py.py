# The Lock of redis-py, unmodified.
#   apt-get install python3-redis
#   lockstorm run --client '/usr/bin/python3 examples/any-language/redis_py.py' --faults all
import json, os, sys
import redis
from redis.exceptions import LockNotOwnedError

host, port = os.environ["LOCKSTORM_ADDRS"].split(",")[0].split(":")
rdb = redis.Redis(host, int(port), socket_timeout=int(os.environ["LOCKSTORM_TIMEOUT_MS"]) / 1000)
held = {}  # locks by the id of the acquire that took them


def serve(q):
    if q["do"] == "acquire":
        lock = rdb.lock(q["key"], timeout=q["ttl"] / 1000)
        if not lock.acquire(blocking=False):
            return {"error": "busy"}
        held[q["id"]] = lock
        return {"token": lock.local.token.decode()}
    if q["do"] == "extend":
        held[q["lease"]].extend(q["ttl"] / 1000, replace_ttl=True)
        return {}
    held.pop(q["lease"]).release()
    return {}


def answer(line):
    print(json.dumps(line), flush=True)


rdb.ping()
answer({"ready": True, "extend": True})
for q in map(json.loads, sys.stdin):
    try:
        answer({"id": q["id"], **serve(q)})
    except LockNotOwnedError:  # Redis has answered: the key is gone, or another's
        answer({"id": q["id"], "error": "not-held"})
    except Exception as e:  # no answer, or an error: nobody knows whether the command ran
        answer({"id": q["id"], "error": repr(e)})
