package app

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// NATS says how to reach an external NATS.
type NATS struct {
	Login    queue.Login
	Replicas int
}

// bindConnection declares the flags of everybody who connects to an external NATS.
func (n *NATS) bindConnection(f *pflag.FlagSet) {
	f.StringVar(&n.Login.Credentials, "nats-creds", "", "credentials file, with a JWT and its key")
	f.StringVar(&n.Login.User, "nats-user", "", "name of the user")
	f.StringVar(&n.Login.PasswordFile, "nats-password-file", "", "file with the password of the user")
	f.StringVar(&n.Login.CAFile, "nats-tls-ca", "", "file of the CA of the server's certificate (default: the system's); this and --nats-tls-cert require TLS")
	f.StringVar(&n.Login.CertFile, "nats-tls-cert", "", "file of the client certificate")
	f.StringVar(&n.Login.KeyFile, "nats-tls-key", "", "file of the client certificate's key")
}

func (n *NATS) bindReplicas(f *pflag.FlagSet) {
	f.IntVar(&n.Replicas, "nats-replicas", 0, "how many servers hold each stream: 1, 3 or 5; 0 is 1 for new streams, and leaves others as they are")
}

// options returns the settings as the queue takes them; what else it needs is the caller's to add.
func (n *NATS) options(url string) (queue.Options, error) {
	return queue.Options{URL: url, Login: n.Login, Replicas: n.Replicas}, nil
}

// environmentName returns the variable that stands for a flag.
func environmentName(flag string) string {
	return "REROLL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that the command line left open.
func fromEnvironment(f *pflag.FlagSet) error {
	var errs []error
	f.VisitAll(func(flag *pflag.Flag) {
		value, ok := os.LookupEnv(environmentName(flag.Name))
		if !ok || flag.Changed || flag.Name == "help" {
			return
		}
		if err := f.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment %s: %w", environmentName(flag.Name), err))
		}
	})
	return errors.Join(errs...)
}
