package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Options says where the queue is and how large it may grow.
type Options struct {
	// URL has the addresses of an external server or cluster, separated by commas. If it is empty, a server is embedded.
	URL string
	// Login says how the external server knows us, and how we know it.
	Login Login
	// Streams are those that the caller uses, and that Open creates or brings up to date. Default: HINTS, HISTORY and STATE.
	Streams []string
	// Name is shown by the external server, and names the embedded one.
	Name string

	// StoreDir is the folder of the embedded server. It is created if it does not exist, and belongs to one process at a time.
	StoreDir string
	// ConfigFile is a NATS configuration for the embedded server, with accounts, limits and where it listens, so that it can be a hub. Its changes
	// are taken within seconds. Where the server stores, and that it waits for the disk, is not for the file to say. With accounts, Login says which
	// user this process is.
	ConfigFile string
	// MaxStore bounds the files of the embedded server, in bytes: a quarter for hints and half for history. Of an external server it bounds these
	// streams when they are created. Default 2 GiB.
	MaxStore int64
	// Replicas is how many servers of an external cluster hold each stream: 1, 3 or 5. Zero means one for a new stream, and leaves others as they
	// are.
	Replicas int

	// Logger gets what the server and the connection report. Default slog.Default.
	Logger *slog.Logger
	// Registerer gets the metrics reroll_queue_*; nil means none.
	Registerer prometheus.Registerer
}

const (
	defaultMaxStore = 2 << 30
	smallestStore   = 1 << 20
)

// withDefaults returns o with its gaps filled, or what is wrong with it.
func (o Options) withDefaults() (Options, error) {
	if o.Streams == nil {
		o.Streams = []string{HintsStream, HistoryStream, StateStream}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxStore == 0 {
		o.MaxStore = defaultMaxStore
	}
	switch {
	case o.MaxStore < smallestStore:
		return o, fmt.Errorf("queue: the store needs at least %d bytes, not %d", smallestStore, o.MaxStore)
	case o.Replicas != 0 && o.Replicas != 1 && o.Replicas != 3 && o.Replicas != 5:
		return o, fmt.Errorf("queue: a stream has 1, 3 or 5 replicas, not %d", o.Replicas)
	case o.URL != "":
		return o, errors.Join(o.Login.validate(), validateURLs(o.URL))
	}
	return o, o.Login.validate()
}

// Validate returns what is wrong with o, without reading files or connecting.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// validateURLs checks the addresses without repeating them in an error: they may contain a password.
func validateURLs(list string) error {
	for i, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return fmt.Errorf("queue: NATS address %d is not a URL", i+1)
		}
	}
	return nil
}

// Redacted returns the addresses without user names and passwords.
func Redacted(list string) string {
	var shown []string
	for s := range strings.SplitSeq(list, ",") {
		s = strings.TrimSpace(s)
		if i := strings.LastIndex(s, "@"); i >= 0 {
			scheme, _, ok := strings.Cut(s[:i], "://")
			if !ok {
				scheme = "nats"
			}
			s = scheme + "://" + s[i+1:]
		}
		shown = append(shown, s)
	}
	return strings.Join(shown, ",")
}
