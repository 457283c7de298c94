# A lock by hand on redis-rb: SET NX PX, and a watchdog: a thread that renews the lock for as long as it is held.
#   apt-get install ruby-redis
#   lockstorm run --client 'ruby examples/any-language/set_nx_watchdog.rb' --faults all
require "json"
require "redis"
require "securerandom"

RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"

# By default redis-rb sends a command again after an error. A SET NX would then meet its own key.
def connect
  host, port = ENV["LOCKSTORM_ADDRS"].split(",").first.split(":")
  Redis.new(host: host, port: port.to_i, timeout: ENV["LOCKSTORM_TIMEOUT_MS"].to_i / 1000.0, reconnect_attempts: 0)
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

class Lease
  RENEWALS = connect # of all watchdogs

  def initialize(id, key, token, ttl, since)
    @id, @key, @token, @ttl = id, key, token, ttl
    @until = since + ttl / 1000.0 # when the lease ends without another renewal
    @mutex, @over = Mutex.new, ConditionVariable.new
    @watchdog = Thread.new { renew }
  end

  def renew
    @mutex.synchronize do
      until @released
        @over.wait(@mutex, @ttl / 4000.0)
        next if @released
        since = now
        return answer({ lost: @id }) if since + @ttl / 3000.0 > @until # too late for another attempt
        begin
          return answer({ lost: @id }) if RENEWALS.eval(EXTEND, keys: [@key], argv: [@token, @ttl]) == 0
          @until = since + @ttl / 1000.0
        rescue Redis::BaseError # nobody knows: the next attempt tells
        end
      end
    end
  end

  # The token is kept: after an error, the same release may be tried again.
  def release
    @mutex.synchronize { @released = true; @over.signal }
    @watchdog.join
    RDB.eval(RELEASE, keys: [@key], argv: [@token]) == 1 ? {} : { error: "not-held" }
  end
end

RDB = connect
HELD = {} # leases by the id of the acquire that took the lock
OUTPUT = Mutex.new

def serve(q)
  return HELD.fetch(q["lease"]).release if q["do"] == "release"
  token, since = SecureRandom.hex(16), now
  return { error: "busy" } unless RDB.set(q["key"], token, nx: true, px: q["ttl"])
  HELD[q["id"]] = Lease.new(q["id"], q["key"], token, q["ttl"], since)
  { token: token }
end

def answer(line)
  OUTPUT.synchronize { puts JSON.generate(line) }
end

$stdout.sync = true
RDB.ping
answer({ ready: true, renews: true })
$stdin.each_line do |line|
  q = JSON.parse(line)
  begin
    answer({ id: q["id"], **serve(q) })
  rescue StandardError => e # no answer, or an error: nobody knows whether the command ran
    answer({ id: q["id"], error: "#{e.class}: #{e.message}" })
  end
end
