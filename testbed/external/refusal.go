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
)

// PasswordVariable is the environment variable for the password.
const PasswordVariable = "LOCKSTORM_REDIS_PASSWORD"

// Hints for the user, in terms of the program's flags.
const (
	givePassword = "give the password by --password-file or $" + PasswordVariable + ", and --user if there is one"
	grantAccess  = "docs/external.md lists what the user has to be granted"
)

// errHandshake is wrapped by the error of a failed TLS handshake.
var errHandshake = errors.New("TLS")

// refusal returns an error that says in one line why the server cannot be used, with a
// hint.
func (t target) refusal(err error) error {
	text := t.password.hide(err.Error())
	if hint := t.hint(err); hint != "" {
		text += ": " + hint
	}
	return fmt.Errorf("%s: %s", t.addr, text)
}

// hint says what the user may do about an error of the first exchange with a server, "" if
// unknown.
func (t target) hint(err error) string {
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var noTLS tls.RecordHeaderError
	text := err.Error()
	switch {
	case strings.Contains(text, "NOAUTH"):
		return givePassword
	case strings.Contains(text, "WRONGPASS") || strings.Contains(text, "without any password configured"):
		return "see --user, --password-file and $" + PasswordVariable
	case strings.Contains(text, "NOPERM") || strings.Contains(text, "No permissions"):
		return grantAccess
	case errors.As(err, &unknown):
		return "if the authority is a private one, name the file with its certificate by --tls-ca"
	case errors.As(err, &other):
		return "name the server by --addr as its certificate does"
	case strings.Contains(text, "certificate required") || strings.Contains(text, "handshake failure"):
		return "if it asks clients for a certificate, name ours by --tls-cert and --tls-key"
	case t.tls != nil && !errors.Is(err, errHandshake) && hungUp(err): // asked for late by TLS 1.3
		return "if it asks clients for a certificate, name ours by --tls-cert and --tls-key"
	case errors.Is(err, errHandshake) && (errors.As(err, &noTLS) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || hungUp(err)):
		return "perhaps it does not speak TLS at that port: try without --tls, rediss: and the files of --tls-ca, --tls-cert and --tls-key"
	case t.tls == nil && hungUp(err):
		return "perhaps it speaks TLS at that port: try --tls"
	}
	return ""
}

// hungUp reports whether the other side ended the connection.
func hungUp(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
}
