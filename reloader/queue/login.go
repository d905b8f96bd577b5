package queue

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"
)

// Login says how an external server knows us, and how we know it. Secrets are in files, which are read again at each connection, so that
// they may change while the program runs. At most one of Credentials and User may be set.
type Login struct {
	// Credentials is the path of a NATS credentials file: a JWT and its key.
	Credentials string
	// User is the name of a user, whose password is in PasswordFile.
	User, PasswordFile string

	// CAFile is the path of a PEM file with the authorities that sign the server's certificate; the system's if empty.
	CAFile string
	// CertFile and KeyFile are the paths of the PEM files of a client certificate.
	CertFile, KeyFile string
}

// validate checks what can be checked without reading a file.
func (l Login) validate() error {
	switch {
	case l.Credentials != "" && l.User+l.PasswordFile != "":
		return errors.New("queue: only one of credentials and user can log in to NATS")
	case (l.User == "") != (l.PasswordFile == ""):
		return errors.New("queue: a NATS user needs a password file, and a password file a user")
	case (l.CertFile == "") != (l.KeyFile == ""):
		return errors.New("queue: a NATS client certificate needs its key, and a key its certificate")
	}
	return nil
}

// options returns what a connection needs for the login. Each file has been read by then, so that a wrong one is an error at once.
func (l Login) options(log *slog.Logger) ([]nats.Option, error) {
	who, err := l.identity(log)
	if err != nil {
		return nil, err
	}
	if l.CAFile != "" {
		who = append(who, nats.RootCAs(l.CAFile))
	}
	if l.CertFile != "" {
		who = append(who, nats.ClientCert(l.CertFile, l.KeyFile))
	}
	for _, option := range who {
		if err := option(&nats.Options{}); err != nil {
			return nil, fmt.Errorf("TLS to NATS: %w", err)
		}
	}
	return who, nil
}

func (l Login) identity(log *slog.Logger) ([]nats.Option, error) {
	switch {
	case l.Credentials != "":
		option := nats.UserCredentials(l.Credentials)
		return []nats.Option{option}, checkCredentials(option, l.Credentials)
	case l.User != "":
		_, err := readPassword(l.PasswordFile)
		return []nats.Option{nats.UserInfoHandler(func() (string, string) { return l.User, passwordAgain(log, l.PasswordFile) })}, err
	}
	return nil, nil
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

// maxPassword bounds a password in bytes: a longer file is another one than was meant.
const maxPassword = 4096

// readPassword returns what is in a file, without the white space around it.
func readPassword(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("NATS password file: %w", err)
	}
	password := bytes.TrimSpace(data)
	if len(password) == 0 || len(password) > maxPassword {
		return "", fmt.Errorf("NATS password file %s has %d bytes, which is not a password", path, len(password))
	}
	return string(password), nil
}

// passwordAgain reads a password for a connection, and logs an error, which it cannot return. The server refuses an empty password.
func passwordAgain(log *slog.Logger, path string) string {
	password, err := readPassword(path)
	if err != nil {
		log.Error("could not read how to log in to NATS", "error", err)
	}
	return password
}
