package external

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Secret is a password. It is hidden wherever it is printed or stored.
type Secret string

const hidden = "(hidden)"

// String implements fmt.Stringer.
func (Secret) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return hidden }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// hide replaces the password in a text.
func (s Secret) hide(text string) string {
	if s == "" {
		return text
	}
	return strings.ReplaceAll(text, string(s), hidden)
}

// target is one server, with the data to log in.
type target struct {
	addr     string // host:port
	tls      *tls.Config
	user     string
	password Secret
	db       int
}

// errPassword is the error for a password in an address. It does not contain the password.
var errPassword = errors.New("a password does not belong on a command line, where others see it: give it in a file or the environment")

// targets parses Addrs.
func (o Options) targets() ([]target, error) {
	if len(o.Addrs) == 0 {
		return nil, errors.New("no address: expected host:port of a Redis")
	}
	var all []target
	for _, text := range o.Addrs {
		t, err := o.target(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (o Options) target(text string) (target, error) {
	t := target{user: o.User, password: o.Password, db: o.DB}
	secure := o.TLS || o.CA != "" || o.Cert != "" || o.Key != ""
	host := text
	if scheme, _, isURL := strings.Cut(text, "://"); isURL {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.RawQuery != "" || scheme != "redis" && scheme != "rediss" {
			// The error must not contain text or err: both may contain a password.
			return t, errors.New("address: expected host:port, redis://host:port/db or rediss://host:port/db")
		}
		if _, set := u.User.Password(); set {
			return t, errPassword
		}
		if name := u.User.Username(); name != "" {
			t.user = name
		}
		if path := strings.Trim(u.Path, "/"); path != "" {
			if t.db, err = strconv.Atoi(path); err != nil {
				return t, fmt.Errorf("address: database %q: expected a number", path)
			}
		}
		host, secure = u.Host, secure || scheme == "rediss"
	} else if strings.Contains(text, "@") {
		return t, errPassword
	}
	if t.db < 0 {
		return t, fmt.Errorf("database %d: expected at least 0", t.db)
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil || name == "" || port == "" {
		return t, fmt.Errorf("address %q: expected host:port", host)
	}
	t.addr = host
	if secure {
		if t.tls, err = o.config(name); err != nil {
			return t, err
		}
	}
	return t, nil
}

// config returns the TLS configuration for a host.
func (o Options) config(host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("certificates of authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates of authorities: there are none in %s", o.CA)
		}
	}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("our own certificate and its key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
