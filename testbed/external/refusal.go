package external

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/lockstorm/lockstorm/internal/input"
)

// PasswordVariable is the environment variable for the password.
const PasswordVariable = "LOCKSTORM_REDIS_PASSWORD"

// Settings that the hints of target.hint tell the user to change.
const (
	addrSetting     = input.Setting("addr")
	userSetting     = input.Setting("user")
	ownSetting      = input.Setting("i-own-this-redis")
	passwordSetting = input.Setting("password-file")
	tlsSetting      = input.Setting("tls")
	caSetting       = input.Setting("tls-ca")
	certSetting     = input.Setting("tls-cert")
	keySetting      = input.Setting("tls-key")
)

// errHandshake marks the error of a failed TLS handshake.
var errHandshake = errors.New("TLS")

// refusal returns an error that says in one line why the server cannot be used, with a hint.
func (t target) refusal(err error) error {
	text := t.password.hide(err.Error())
	if hint := t.hint(err); hint != nil {
		return fmt.Errorf("%s: %s: %w", t.addr, text, hint)
	}
	return fmt.Errorf("%s: %s", t.addr, text)
}

// hint returns an input.Error that says what the user may do about err, an error of the first
// exchange with a server; nil if unknown.
func (t target) hint(err error) error {
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var noTLS tls.RecordHeaderError
	text := err.Error()
	switch {
	case errors.Is(err, errFree):
		return input.Errorf("let its operator make a user for %s, by %s; or, if nobody else uses the server, give %s", userSetting, Grant, ownSetting)
	case strings.Contains(text, "NOAUTH"):
		return input.Errorf("give the password by %s or $%s, and %s if there is one", passwordSetting, PasswordVariable, userSetting)
	case strings.Contains(text, "WRONGPASS") || strings.Contains(text, "without any password configured"):
		return input.Errorf("see %s, %s and $%s", userSetting, passwordSetting, PasswordVariable)
	case strings.Contains(text, "NOPERM") || strings.Contains(text, "No permissions"):
		return input.Errorf("docs/external.md lists what the user has to be granted")
	case errors.As(err, &unknown):
		return input.Errorf("if the authority is a private one, name the file with its certificate by %s", caSetting)
	case errors.As(err, &other):
		return input.Errorf("name the server by %s as its certificate does", addrSetting)
	case strings.Contains(text, "certificate required") || strings.Contains(text, "handshake failure"):
		return input.Errorf("if it asks clients for a certificate, name ours by %s and %s", certSetting, keySetting)
	case t.tls != nil && !errors.Is(err, errHandshake) && hungUp(err): // in TLS 1.3, a server rejects a missing certificate only after the handshake
		return input.Errorf("if it asks clients for a certificate, name ours by %s and %s", certSetting, keySetting)
	case errors.Is(err, errHandshake) && (errors.As(err, &noTLS) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || hungUp(err)):
		return input.Errorf("perhaps it does not speak TLS at that port: try without %s, rediss: and the files of %s, %s and %s", tlsSetting, caSetting, certSetting, keySetting)
	case t.tls == nil && hungUp(err):
		return input.Errorf("perhaps it speaks TLS at that port: try %s", tlsSetting)
	}
	return nil
}

// hungUp reports whether the other side ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
}
