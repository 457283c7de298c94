// A lock by hand on node-redis: SET NX PX, and a script that deletes only its own token.
//   apt-get install node-redis
//   lockstorm run --client 'node examples/any-language/set_nx.cjs' --faults all
// A Node that is not Debian's finds Debian's packages with NODE_PATH=/usr/share/nodejs in the environment.
const { createClient } = require("redis");
const { randomBytes } = require("crypto");
const { createInterface } = require("readline");

const RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
const EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";
const timeout = Number(process.env.LOCKSTORM_TIMEOUT_MS);
const held = new Map(); // tokens by the id of the acquire that took the lock

// While it is not connected, node-redis keeps commands and sends them later, when their caller has given up.
const rdb = createClient({
  url: "redis://" + process.env.LOCKSTORM_ADDRS.split(",")[0],
  disableOfflineQueue: true,
});

// node-redis waits for a reply as long as the connection lives.
function inTime(command) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("no reply in time")), timeout);
  });
  return Promise.race([command, late]).finally(() => clearTimeout(timer));
}

async function serve(q) {
  if (q.do === "acquire") {
    const token = randomBytes(16).toString("hex");
    if ((await inTime(rdb.set(q.key, token, { NX: true, PX: q.ttl }))) === null) return { error: "busy" };
    held.set(q.id, token);
    return { token };
  }
  const args = [held.get(q.lease)]; // kept: after an error, the same release may be tried again
  if (q.do === "extend") args.push(String(q.ttl));
  const script = q.do === "extend" ? EXTEND : RELEASE;
  const done = await inTime(rdb.eval(script, { keys: [q.key], arguments: args }));
  return done === 1 ? {} : { error: "not-held" };
}

function answer(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

async function main() {
  rdb.on("error", (e) => console.error(String(e))); // without it an error ends the process; node-redis connects again
  await rdb.connect();
  answer({ ready: true, extend: true });
  for await (const line of createInterface({ input: process.stdin })) {
    const q = JSON.parse(line);
    try {
      answer({ id: q.id, ...(await serve(q)) });
    } catch (e) { // no answer, or an error: nobody knows whether the command ran
      answer({ id: q.id, error: String(e) });
    }
  }
  await rdb.disconnect();
}

main();
