package app

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// NATS says how the program gets on with its NATS, wherever that is.
type NATS struct {
	Login       queue.Login
	InboxPrefix string
	Replicas    int
	// StoreSize is a quantity of bytes as Kubernetes writes it; empty is the default.
	StoreSize string
}

// bindConnection declares the flags of everybody who connects to an external NATS.
func (n *NATS) bindConnection(f *pflag.FlagSet) {
	f.StringVar(&n.Login.Credentials, "nats-creds", "", "external NATS: credentials file, with a JWT and its key")
	f.StringVar(&n.Login.User, "nats-user", "", "external NATS: name of the user")
	f.StringVar(&n.Login.PasswordFile, "nats-password-file", "", "external NATS: file with the password of the user")
	f.StringVar(&n.Login.CAFile, "nats-tls-ca", "", "external NATS: file of the CA of its certificate; the system's if empty. This and --nats-tls-cert insist on TLS")
	f.StringVar(&n.Login.CertFile, "nats-tls-cert", "", "external NATS: file of the client certificate")
	f.StringVar(&n.Login.KeyFile, "nats-tls-key", "", "external NATS: file of the client certificate's key")
	f.StringVar(&n.InboxPrefix, "nats-inbox-prefix", "", "external NATS: prefix of the subjects of answers, for users that may not see the answers to others; _INBOX if empty")
}

func (n *NATS) bindReplicas(f *pflag.FlagSet) {
	f.IntVar(&n.Replicas, "nats-replicas", 0, "external NATS: how many of its servers hold each stream: 1, 3 or 5; 0 is 1 for new streams, and leaves others as they are")
}

// bind declares the flags of a role.
func (n *NATS) bind(f *pflag.FlagSet, r role) {
	n.bindConnection(f)
	n.bindReplicas(f)
	if r.embeds {
		n.bindSize(f)
	}
}

func (n *NATS) bindSize(f *pflag.FlagSet) {
	f.StringVar(&n.StoreSize, "nats-store-size", "", "bytes that the store may take, such as 4Gi: a quarter for hints, half for changes and reloads, and the rest for the state. Default: 2Gi")
}

// check finds what is wrong without looking into files.
func (n *NATS) check(url string) error {
	external := *n
	external.StoreSize = ""
	if url == "" && external != (NATS{}) {
		return errors.New("--nats-url is empty: the other --nats flags but --nats-store-size are for an external NATS")
	}
	_, err := n.maxStore()
	return err
}

// maxStore returns the size of the store in bytes; 0 is the default.
func (n *NATS) maxStore() (int64, error) {
	if n.StoreSize == "" {
		return 0, nil
	}
	size, err := resource.ParseQuantity(n.StoreSize)
	if err != nil || size.Value() <= 0 {
		return 0, fmt.Errorf("--nats-store-size: %q is no number of bytes such as 4Gi", n.StoreSize)
	}
	return size.Value(), nil
}

// options returns the settings as the queue takes them; what else it needs is the caller's to add.
func (n *NATS) options(url string) (queue.Options, error) {
	size, err := n.maxStore()
	return queue.Options{
		URL: url, Login: n.Login, InboxPrefix: n.InboxPrefix, Replicas: n.Replicas, MaxStore: size,
	}, err
}
