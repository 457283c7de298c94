package external

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// secret is a password of servers in these tests. No error may contain it.
const secret = "correct-horse-battery"

// run opens the testbed with these options, and runs body in one of its environments.
func run(t *testing.T, o Options, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	t.Helper()
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return runOn(t.Context(), tb, s, body)
}

func runOn(ctx context.Context, tb *Testbed, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	if s.Topology == "" {
		s.Topology = testbed.Single
	}
	s.Clients, s.CommandTimeout = max(1, s.Clients), time.Minute
	s.Clock, s.Commands = tb.Clock(), func(history.Command) {}
	return tb.Run(ctx, s, body)
}

// named returns the name that the lock has in the trial.
func named(e testbed.Env, lock string) string { return e.Client(0).Locks().Prefix + lock }

// first returns client 0's pool for the first node.
func first(e testbed.Env) locks.Node { return e.Client(0).Locks().Nodes[0] }

// admin returns a client with the rights of the server's owner, for the tests themselves.
func admin(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// certificates makes an authority and a server's certificate, as files.
func certificates(t *testing.T) (ca, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lockstorm test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	err = errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return cert, cert, key
}

// startTLS starts a server that also speaks TLS, at addr, and asks clients for certificates. If
// redis-server was built without TLS, startTLS skips the test.
func startTLS(t *testing.T, ca, cert, key string) (s *redisserver.Server, addr string) {
	t.Helper()
	port := freePort(t)
	s, err := redisserver.Start(t.Context(), redisserver.Options{Args: []string{
		"--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca,
	}})
	if err != nil && strings.Contains(err.Error(), "tls-port") {
		t.Skipf("this redis-server was built without TLS: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, net.JoinHostPort("127.0.0.1", port)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func setGet(ctx context.Context, e testbed.Env) error {
	if err := first(e).Set(ctx, named(e, "k"), "v", 0).Err(); err != nil {
		return err
	}
	got, err := first(e).Get(ctx, named(e, "k")).Result()
	if err == nil && got != "v" {
		err = errors.New("got " + got)
	}
	return err
}

func TestServersAreReachedAsTheyWant(t *testing.T) {
	ca, cert, key := certificates(t)
	open := redistest.Test(t)
	locked := redistest.Test(t, "--requirepass", secret)
	limited := redistest.Test(t, user("lock on >"+secret+" ~*lockstorm:* &*lockstorm:* +@all -@admin -@dangerous")...)
	confined := redistest.Test(t)
	set(t, admin(t, &redis.Options{Addr: confined.Addr()}), Grant)
	_, secure := startTLS(t, ca, cert, key)
	for name, o := range map[string]Options{
		"plain":           {Addrs: []string{open.Addr()}},
		"URL":             {Addrs: []string{"redis://" + open.Addr() + "/2"}},
		"database":        {Addrs: []string{open.Addr()}, DB: 3},
		"password":        {Addrs: []string{locked.Addr()}, Password: secret},
		"user":            {Addrs: []string{limited.Addr()}, User: "lock", Password: secret, Really: true},
		"user in the URL": {Addrs: []string{"redis://lock@" + limited.Addr() + "/1"}, Password: secret, Really: true},
		"TLS":             {Addrs: []string{secure}, TLS: true, CA: ca, Cert: cert, Key: key},
		"rediss":          {Addrs: []string{"rediss://" + secure}, CA: ca, Cert: cert, Key: key},
		"confined user":   {Addrs: []string{confined.Addr()}, User: "lockstorm", Password: "PASSWORD"},
		"several":         {Addrs: []string{open.Addr(), "redis://" + locked.Addr()}, Password: ""},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "several" {
				o.Addrs[1] = redistest.Test(t).Addr()
			}
			o.Own = name != "confined user"
			changes := 0 // the observer connects as clients do
			setup := testbed.Setup{
				Keys:   func(history.KeyChange) { changes++ },
				Unseen: func(_ string, err error) { t.Error(err) },
			}
			if err := run(t, o, setup, setGet); err != nil || changes != 1 {
				t.Errorf("%d changes, %v, want 1", changes, err)
			}
		})
	}
}

func TestWhyAServerCannotBeUsedIsOneLine(t *testing.T) {
	ca, cert, key := certificates(t)
	other, _, _ := certificates(t)
	open := redistest.Test(t)
	locked := redistest.Test(t, "--requirepass", secret)
	limited := redistest.Test(t, user("lock on >"+secret+" ~app:* &* +@all")...)
	replica := redistest.Test(t, "--replicaof", "127.0.0.1", strconv.Itoa(open.Port()))
	twice, full := redistest.Test(t), nearlyFull(t)
	cluster := redistest.Test(t, "--cluster-enabled", "yes")
	_, secure := startTLS(t, ca, cert, key)
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"nothing named":        {Options{}, "no address"},
		"no port":              {Options{Addrs: []string{"localhost"}}, `"localhost": expected host:port`},
		"nobody there":         {Options{Addrs: []string{"127.0.0.1:1"}}, "connection refused"},
		"password in the URL":  {Options{Addrs: []string{"redis://u:" + secret + "@" + open.Addr()}}, "does not belong on a command line"},
		"password without URL": {Options{Addrs: []string{"u:" + secret + "@" + open.Addr()}}, "does not belong on a command line"},
		"password in no URL":   {Options{Addrs: []string{"redis://u:" + secret + "@%zz"}}, "expected host:port"},
		"another scheme":       {Options{Addrs: []string{"http://" + secret}}, "expected host:port"},
		"wrong password":       {Options{Addrs: []string{locked.Addr()}, Password: secret + "!"}, "see user, password-file and $LOCKSTORM_REDIS_PASSWORD"},
		"no password":          {Options{Addrs: []string{locked.Addr()}}, "required.: give the password by password-file or $LOCKSTORM_REDIS_PASSWORD"},
		"password not wanted":  {Options{Addrs: []string{open.Addr()}, User: "x", Password: secret}, "WRONGPASS"},
		"other keys only":      {Options{Addrs: []string{limited.Addr()}, User: "lock", Password: secret, Own: true}, "keys that contain lockstorm:"},
		"no such database":     {Options{Addrs: []string{open.Addr()}, DB: 99}, "database 99"},
		"replica":              {Options{Addrs: []string{replica.Addr()}}, "it is a replica"},
		"cluster":              {Options{Addrs: []string{cluster.Addr()}}, "cluster"},
		"one server twice":     {Options{Addrs: []string{twice.Addr(), twice.Addr()}, Own: true}, "are one server"},
		"unknown authority":    {Options{Addrs: []string{secure}, CA: other, Cert: cert, Key: key}, "private one, name the file with its certificate by tls-ca"},
		"no certificate":       {Options{Addrs: []string{secure}, CA: ca}, "name ours by tls-cert and tls-key"},
		"TLS unasked":          {Options{Addrs: []string{secure}}, "perhaps it speaks TLS at that port: try tls"},
		"no TLS there":         {Options{Addrs: []string{open.Addr()}, TLS: true}, "perhaps it does not speak TLS at that port"},
		"no such file":         {Options{Addrs: []string{secure}, CA: "nowhere.pem"}, "nowhere.pem"},
		"many clients":         {Options{Addrs: []string{open.Addr()}, Clients: 1000, Own: true}, "1000 clients are a load"},
		"many trials":          {Options{Addrs: []string{open.Addr()}, Parallel: 24, Own: true}, "24 trials at a time"},
		"replicas":             {Options{Addrs: []string{open.Addr()}, Own: true}, "it has 1 replicas"},
		"memory":               {Options{Addrs: []string{full}, Own: true}, "memory is nearly full"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "replicas" {
				awaitReplica(t, open.Addr())
			}
			patience := time.Minute
			if strings.Contains(name, "TLS") {
				patience = 3 * time.Second // one of these servers does not answer
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := New(ctx, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want one line with %q and no password", err, c.want)
			}
		})
	}
}

// nearlyFull starts a server whose memory is nearly full.
func nearlyFull(t *testing.T) (addr string) {
	t.Helper()
	s := redistest.Test(t)
	c := admin(t, &redis.Options{Addr: s.Addr()})
	// The value is so large that the memory of connections does not matter. SETRANGE makes the
	// server allocate the value itself. If the client sent the whole value, the server would later
	// free its read buffer.
	if err := c.SetRange(t.Context(), "theirs", 32<<20, "x").Err(); err != nil {
		t.Fatal(err)
	}
	info, err := c.InfoMap(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	used, _ := strconv.Atoi(info["Memory"]["used_memory"])
	if err := c.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(used+used/20)).Err(); err != nil {
		t.Fatal(err)
	}
	return s.Addr()
}

// awaitReplica fails the test if the server has no replica after a minute.
func awaitReplica(t *testing.T, addr string) {
	t.Helper()
	c := admin(t, &redis.Options{Addr: addr})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if info, err := c.InfoMap(t.Context(), "replication").Result(); err == nil && info["Replication"]["connected_slaves"] == "1" {
			return
		}
	}
	t.Fatalf("%s has no replica after a minute", addr)
}

// set sends a command with these words.
func set(t *testing.T, c *redis.Client, command string) {
	t.Helper()
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	if err := c.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func TestYesReallyGoesOn(t *testing.T) {
	s := redistest.Test(t)
	o := Options{Addrs: []string{s.Addr()}, Clients: 1000, Parallel: 24, Really: true, Own: true}
	if err := run(t, o, testbed.Setup{}, setGet); err != nil {
		t.Error(err)
	}
}

// TestOnlyAConfinedUserIsUsed gives a server users that may leave the names of the testbed, and one that
// has just one harmful command.
func TestOnlyAConfinedUserIsUsed(t *testing.T) {
	s := redistest.Test(t)
	c := admin(t, &redis.Options{Addr: s.Addr()})
	o := Options{Addrs: []string{s.Addr()}, User: "lockstorm", Password: "PASSWORD"}
	for rule, want := range map[string]string{
		"~*": "may use all keys or channels ~*,", "~app:*": "~app:*", "%R~x": "%R~x", "~[lockstorm:]*": "~[lockstorm:]*", "(~* +get)": "~*",
		"&*": "&*", "&news": "&news", "+flushall": "may send FLUSHALL", "+@all": "may send FLUSHALL", "-acl|getuser": "(NOPERM ", "-acl|dryrun": "(NOPERM ",
		"-acl|whoami": "it does not tell what a user may do (NOPERM ",
	} {
		set(t, c, Grant+" clearselectors "+strings.Replace(rule, "(", "resetkeys (", 1))
		if strings.HasPrefix(rule, "&") {
			set(t, c, "ACL SETUSER lockstorm resetchannels &*lockstorm:*x "+strings.Replace(rule, "&*", "allchannels", 1))
		}
		_, err := New(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), Grant) || !strings.Contains(err.Error(), "i-own-this-redis") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q and what to grant", rule, err, want)
		}
	}
	for _, command := range harmful {
		words := strings.Fields(strings.ToLower(command))
		if slices.Contains([]string{"script", "function", "client", "config", "acl", "module", "memory", "slowlog", "latency", "cluster"}, words[0]) {
			words[0] += "|" + words[1]
		}
		set(t, c, "ACL DELUSER lockstorm")
		set(t, c, Grant+" +"+words[0])
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "may send "+command) {
			t.Errorf("%s: got %v, want it refused", command, err)
		}
	}
	set(t, c, Grant)
	if err := run(t, Options{Addrs: o.Addrs, User: "lockstorm", Password: "PASSWORD"}, testbed.Setup{}, setGet); err != nil {
		t.Error(err)
	}
}

// TestAServerWithoutAccessControlIsRefused uses a server that knows no ACL.
func TestAServerWithoutAccessControlIsRefused(t *testing.T) {
	s := redistest.Test(t, "--rename-command", "ACL", "")
	o := Options{Addrs: []string{s.Addr()}}
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "unknown command 'ACL'") || !strings.Contains(err.Error(), "i-own-this-redis") {
		t.Errorf("got %v, want it refused", err)
	}
	o.Own = true
	if err := run(t, o, testbed.Setup{}, setGet); err != nil {
		t.Error(err)
	}
}
