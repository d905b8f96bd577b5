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
// they may change while the program runs. At most one of Credentials and User may be set. The
// comments and tags of its fields are those of settings.
type Login struct {
	// Credentials file (JWT and key).
	Credentials string `yaml:"credentials"`
	// User name, with `passwordFile`.
	User string `yaml:"user"`
	// Password file.
	PasswordFile string `yaml:"passwordFile"`
	// CA file for the server. Enables TLS, as `tlsCert` does. Default: the CAs of the system.
	CAFile string `yaml:"tlsCA"`
	// Client certificate file.
	CertFile string `yaml:"tlsCert"`
	// Client key file.
	KeyFile string `yaml:"tlsKey"`
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

// option returns the login as an option of a connection. A wrong file is an error at once, but for the key of credentials, which only the connection reads.
func (l Login) option(log *slog.Logger) nats.Option {
	var options []nats.Option
	if l.Credentials != "" {
		options = append(options, nats.UserCredentials(l.Credentials))
	}
	if l.User != "" {
		options = append(options, func(o *nats.Options) error {
			o.UserInfo = func() (string, string) {
				password, err := readPassword(l.PasswordFile)
				if err != nil { // the server refuses an empty password
					log.Error("could not read how to log in to NATS", "error", err)
				}
				return l.User, password
			}
			_, err := readPassword(l.PasswordFile)
			return err
		})
	}
	if l.CAFile != "" {
		options = append(options, nats.RootCAs(l.CAFile))
	}
	if l.CertFile != "" {
		options = append(options, nats.ClientCert(l.CertFile, l.KeyFile))
	}
	return func(o *nats.Options) error {
		for _, option := range options {
			if err := option(o); err != nil {
				return fmt.Errorf("%w: %w", errLogin, err)
			}
		}
		return nil
	}
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
