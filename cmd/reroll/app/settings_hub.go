package app

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// Hub says where the records of the cluster are brought, and how the hub knows us. With an empty URL they stay where they are.
type Hub struct {
	URL         string
	Login       queue.Login
	InboxPrefix string
}

// bind declares the flags.
func (h *Hub) bind(f *pflag.FlagSet) {
	f.StringVar(&h.URL, "hub-url", "", "addresses of the NATS of a hub, separated by commas, to which changes, reloads and the state of this cluster are forwarded; nothing waits for it")
	f.StringVar(&h.Login.Credentials, "hub-creds", "", "hub: credentials file, with a JWT and its key")
	f.StringVar(&h.Login.User, "hub-user", "", "hub: name of the user")
	f.StringVar(&h.Login.PasswordFile, "hub-password-file", "", "hub: file with the password of the user")
	f.StringVar(&h.Login.CAFile, "hub-tls-ca", "", "hub: file of the CA of its certificate; the system's if empty. This and --hub-tls-cert insist on TLS")
	f.StringVar(&h.Login.CertFile, "hub-tls-cert", "", "hub: file of the client certificate")
	f.StringVar(&h.Login.KeyFile, "hub-tls-key", "", "hub: file of the client certificate's key")
	f.StringVar(&h.InboxPrefix, "hub-inbox-prefix", "", "hub: prefix of the subjects of answers, for users that may not see the answers to others; _INBOX if empty")
}

// check finds what is wrong without looking into files.
func (h *Hub) check() error {
	if h.URL == "" && *h != (Hub{}) {
		return errors.New("--hub-url is empty: the other --hub flags say how to connect to it")
	}
	if h.URL == "" {
		return nil
	}
	if err := h.options().Validate(); err != nil {
		return fmt.Errorf("--hub-url: %w", err)
	}
	return nil
}

// options returns the settings as the queue takes them.
func (h *Hub) options() queue.Options {
	return queue.Options{URL: h.URL, Login: h.Login, InboxPrefix: h.InboxPrefix}
}
