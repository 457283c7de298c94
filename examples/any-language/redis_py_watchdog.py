# The Lock of redis-py, unmodified, and a watchdog: a thread that renews the lock for as long as it is held.
#   apt-get install python3-redis
#   lockstorm run --client '/usr/bin/python3 examples/any-language/redis_py_watchdog.py' --faults all
import json, os, sys, threading, time
import redis
from redis.exceptions import LockNotOwnedError

host, port = os.environ["LOCKSTORM_ADDRS"].split(",")[0].split(":")
rdb = redis.Redis(host, int(port), socket_timeout=int(os.environ["LOCKSTORM_TIMEOUT_MS"]) / 1000)
held = {}  # locks by the id of the acquire that took them, each with its watchdog
output = threading.Lock()


class Watchdog(threading.Thread):
    def __init__(self, id, lock, ttl, since):
        super().__init__(daemon=True)
        self.id, self.lock, self.ttl, self.done = id, lock, ttl / 1000, threading.Event()
        self.until = since + self.ttl  # when the lease ends without another renewal
        self.start()

    def run(self):
        while not self.done.wait(self.ttl / 4):
            since = time.monotonic()
            if since + self.ttl / 3 > self.until:  # too late for another attempt
                return answer({"lost": self.id})
            try:
                self.lock.extend(self.ttl, replace_ttl=True)
                self.until = since + self.ttl
            except LockNotOwnedError:  # Redis has answered: the lock is lost
                return answer({"lost": self.id})
            except redis.RedisError:  # nobody knows: the next attempt tells
                pass

    def stop(self):
        self.done.set()
        self.join()


def serve(q):
    if q["do"] == "acquire":
        # By default only the thread that took the lock knows its token: no other thread could renew it.
        since = time.monotonic()
        lock = rdb.lock(q["key"], timeout=q["ttl"] / 1000, thread_local=False)
        if not lock.acquire(blocking=False):
            return {"error": "busy"}
        held[q["id"]] = lock, Watchdog(q["id"], lock, q["ttl"], since)
        return {"token": lock.local.token.decode()}
    lock, watchdog = held.pop(q["lease"])
    watchdog.stop()
    lock.release()
    return {}


def answer(line):
    with output:
        print(json.dumps(line), flush=True)


rdb.ping()
answer({"ready": True, "renews": True})
for q in map(json.loads, sys.stdin):
    try:
        answer({"id": q["id"], **serve(q)})
    except LockNotOwnedError:  # Redis has answered: the key is gone, or another's
        answer({"id": q["id"], "error": "not-held"})
    except Exception as e:  # no answer, or an error: nobody knows whether the command ran
        answer({"id": q["id"], "error": repr(e)})
