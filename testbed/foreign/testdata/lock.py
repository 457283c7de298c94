# A lock by SET NX PX on a plain socket; and, by the first argument, clients that break the protocol.
import ctypes, json, os, signal, socket, subprocess, sys, threading, time

mode = sys.argv[1] if len(sys.argv) > 1 else ""
host, port = os.environ["LOCKSTORM_ADDRS"].split(",")[0].split(":")
limit = 0.05 if mode == "brief" else int(os.environ["LOCKSTORM_TIMEOUT_MS"]) / 1000
conn = None


def command(*words):
    global conn
    try:
        if conn is None:
            conn = socket.create_connection((host, int(port)), limit)
        conn.sendall(("*%d\r\n" % len(words) + "".join("$%d\r\n%s\r\n" % (len(w), w) for w in words)).encode())
        text = b""
        while not text.endswith(b"\r\n"):
            more = conn.recv(4096)
            if not more:
                raise OSError("the connection ended")
            text += more
        return text.decode().strip()
    except OSError:
        if conn is not None:
            conn.close()
        conn = None
        raise


def answer(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def serve(q):
    token = os.environ["LOCKSTORM_CLIENT"] + os.urandom(8).hex() if q["do"] == "acquire" else held[q["lease"]]
    if q["do"] == "acquire":
        if command("SET", q["key"], token, "NX", "PX", str(q["ttl"])) != "+OK":
            return {"error": "busy"}
        held[q["id"]] = token
        return {"token": token}
    script = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
    return {} if command("EVAL", script, "1", q["key"], token) == ":1" else {"error": "not-held"}


print("on stderr", file=sys.stderr)
if mode == "mute":
    time.sleep(3600)
if mode == "early":
    answer({"id": 1})
if mode == "prose":
    print("hello", flush=True)
if mode == "exit":
    sys.exit(3)
if mode == "flood":
    while True:
        sys.stdout.write("x" * 65536)
if mode == "thread":
    t = threading.Thread(target=command, args=("PING",))
    t.start()
    t.join()
if mode == "fork":  # its child connects, in real time
    child = os.fork()
    if child == 0:
        try:
            command("PING")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
if mode == "timer":
    signal.setitimer(signal.ITIMER_REAL, 1)
if mode == "timerfd":
    ctypes.CDLL(None).timerfd_settime(-1, 0, (ctypes.c_long * 4)(0, 0, 1, 0), None)
if mode == "c11":
    ctypes.CDLL(None).thrd_create(None, None, None)
if mode == "spawn":  # another program, which waits in real time
    subprocess.run(["/bin/sleep", "0.01"])
if mode == "stuck":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    threading.Event().wait()
if mode == "exec":
    os.execv("/bin/sleep", ["sleep", "3600"])
if mode == "past":
    subprocess.run(["/bin/echo", '{"ready":true}'])
    time.sleep(3600)
held = {}
command("PING")
if mode == "raw":  # closes its connection by syscall(), and connects again
    ctypes.CDLL(None).syscall(3 if os.uname().machine == "x86_64" else 57, conn.detach())
    conn = None
if mode == "helper":  # another program, which does not wait
    subprocess.run(["/bin/true"])
answer({"ready": True})
for q in map(json.loads, sys.stdin):
    if mode == "stranger":
        answer({"id": q["id"] + 1000})
    if mode == "dies":
        sys.exit(4)
    start = time.monotonic()
    try:
        answer({"id": q["id"], **serve(q)})
    except Exception as e:
        answer({"id": q["id"], "error": "%r after %d ms" % (e, (time.monotonic() - start) * 1000)})
