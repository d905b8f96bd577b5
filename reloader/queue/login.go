package queue

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Login says how an external server knows us, and how we know it. Secrets are in files, which are read again at each connection, so that
// they may change while the program runs. At most one of Credentials, NkeyFile, User and TokenFile may be set.
type Login struct {
	// Credentials is the path of a NATS credentials file: a JWT and its key.
	Credentials string
	// NkeyFile is the path of a file with the seed of an nkey.
	NkeyFile string
	// User is the name of a user, whose password is in PasswordFile.
	User, PasswordFile string
	// TokenFile is the path of a file with a token.
	TokenFile string

	// CAFile is the path of a PEM file with the authorities that sign the server's certificate; the system's if empty.
	CAFile string
	// CertFile and KeyFile are the paths of the PEM files of a client certificate.
	CertFile, KeyFile string
}

// validate checks what can be checked without reading a file.
func (l Login) validate() error {
	ways := 0
	for _, way := range []string{l.Credentials, l.NkeyFile, l.User + l.PasswordFile, l.TokenFile} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways > 1:
		return errors.New("queue: only one of credentials, nkey, user and token can say who we are to NATS")
	case (l.User == "") != (l.PasswordFile == ""):
		return errors.New("queue: a NATS user needs a password file, and a password file a user")
	case (l.CertFile == "") != (l.KeyFile == ""):
		return errors.New("queue: a NATS client certificate needs its key, and a key its certificate")
	}
	return nil
}

// options returns what a connection needs for the login. Each file has been read by then, so that a wrong one is an error at once.
func (l Login) options(log *slog.Logger) ([]nats.Option, *nkeyDialer, error) {
	who, dialer, err := l.identity(log)
	if err != nil {
		return nil, nil, err
	}
	if l.CAFile != "" {
		who = append(who, nats.RootCAs(l.CAFile))
	}
	if l.CertFile != "" {
		who = append(who, nats.ClientCert(l.CertFile, l.KeyFile))
	}
	for _, option := range who {
		if err := option(&nats.Options{}); err != nil {
			return nil, nil, fmt.Errorf("TLS to NATS: %w", err)
		}
	}
	return who, dialer, nil
}

func (l Login) identity(log *slog.Logger) ([]nats.Option, *nkeyDialer, error) {
	switch {
	case l.Credentials != "":
		option := nats.UserCredentials(l.Credentials)
		return []nats.Option{option}, nil, checkCredentials(option, l.Credentials)
	case l.NkeyFile != "":
		dialer := &nkeyDialer{file: l.NkeyFile}
		option, err := nats.NkeyOptionFromSeed(l.NkeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("NATS nkey seed file %s: %w", l.NkeyFile, err)
		}
		return []nats.Option{option, nats.SetCustomDialer(dialer)}, dialer, nil
	case l.User != "":
		_, err := readSecret("password", l.PasswordFile)
		return []nats.Option{nats.UserInfoHandler(func() (string, string) { return l.User, again(log, "password", l.PasswordFile) })}, nil, err
	case l.TokenFile != "":
		_, err := readSecret("token", l.TokenFile)
		return []nats.Option{nats.TokenHandler(func() string { return again(log, "token", l.TokenFile) })}, nil, err
	}
	return nil, nil, nil
}

// checkCredentials does with a credentials file what a connection does.
func checkCredentials(option nats.Option, path string) error {
	var o nats.Options
	err := option(&o)
	if err == nil {
		_, err = o.UserJWT()
	}
	if err == nil {
		_, err = o.SignatureCB([]byte("nonce"))
	}
	return wrap(err, "NATS credentials file %s", path)
}

// maxSecret bounds a password or token, in bytes: a longer file is another one than was meant.
const maxSecret = 4096

// readSecret returns what is in a file, without the white space around it.
func readSecret(what, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("NATS %s file: %w", what, err)
	}
	secret := bytes.TrimSpace(data)
	if len(secret) == 0 || len(secret) > maxSecret {
		return "", fmt.Errorf("NATS %s file %s has %d bytes, which is no %s", what, path, len(secret), what)
	}
	return string(secret), nil
}

// again reads a secret for a connection, when there is nobody to return an error to. The server refuses an empty one.
func again(log *slog.Logger, what, path string) string {
	secret, err := readSecret(what, path)
	if err != nil {
		log.Error("could not read how to log in to NATS", "error", err)
	}
	return secret
}

// nkeyDialer reads the nkey again before each new connection of an existing client, which by itself would go on with the public key
// that it had at first. The client calls it with its lock held, just before it reads these options.
type nkeyDialer struct {
	net.Dialer
	file   string
	client atomic.Pointer[nats.Conn]
}

// Dial connects to a server.
func (d *nkeyDialer) Dial(network, address string) (net.Conn, error) {
	if client := d.client.Load(); client != nil {
		option, err := nats.NkeyOptionFromSeed(d.file)
		if err != nil {
			return nil, fmt.Errorf("NATS nkey seed file %s: %w", d.file, err)
		}
		if err := option(&client.Opts); err != nil {
			return nil, err
		}
	}
	return d.Dialer.Dial(network, address)
}
