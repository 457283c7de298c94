# A lock by hand on redis-rb: SET NX PX, and a script that deletes only its own token.
#   apt-get install ruby-redis
#   lockstorm run --client 'ruby examples/any-language/set_nx.rb' --faults all
require "json"
require "redis"
require "securerandom"

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"

host, port = ENV["LOCKSTORM_ADDRS"].split(",").first.split(":")
# By default redis-rb sends a command again after an error. A SET NX would then meet its own key.
RDB = Redis.new(host: host, port: port.to_i, timeout: ENV["LOCKSTORM_TIMEOUT_MS"].to_i / 1000.0, reconnect_attempts: 0)
HELD = {} # tokens by the id of the acquire that took the lock

def serve(q)
  case q["do"]
  when "acquire"
    token = SecureRandom.hex(16)
    return { error: "busy" } unless RDB.set(q["key"], token, nx: true, px: q["ttl"])
    HELD[q["id"]] = token
    { token: token }
  when "extend"
    owned(q, EXTEND, q["ttl"])
  when "release"
    owned(q, RELEASE)
  end
end

# The token is kept: after an error, the same release may be tried again.
def owned(q, script, *args)
  RDB.eval(script, keys: [q["key"]], argv: [HELD.fetch(q["lease"]), *args]) == 1 ? {} : { error: "not-held" }
end

def answer(line)
  puts JSON.generate(line)
end

$stdout.sync = true
RDB.ping
answer({ ready: true, extend: true })
$stdin.each_line do |line|
  q = JSON.parse(line)
  begin
    answer({ id: q["id"], **serve(q) })
  rescue StandardError => e # no answer, or an error: nobody knows whether the command ran
    answer({ id: q["id"], error: "#{e.class}: #{e.message}" })
  end
end
