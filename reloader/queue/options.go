package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Options says where the queue is and how large it may grow. Sizes are in bytes.
type Options struct {
	// URL has the addresses of an external server or cluster, separated by commas. If it is empty, a server is embedded.
	URL string
	// Login says how the external server knows us, and how we know it.
	Login Login
	// Role is what the queue is opened for. The streams that it needs are made, or brought up to date without getting smaller, as far as NATS
	// permits it; otherwise those that are there are used. Default RoleServe.
	Role Role
	// InboxPrefix is the subject prefix on which answers arrive, for users whose permissions name one. Default "_INBOX".
	InboxPrefix string
	// Name is shown by the external server, and names the embedded one. Default "reroll".
	Name string

	// StoreDir is the folder of the embedded server. It is made if it does not exist, and belongs to one process at a time.
	StoreDir string
	// MaxStore bounds the embedded server's files. Default 2 GiB, but no more than half of the file system: a full disk makes the
	// server refuse everything until it is restarted with room.
	MaxStore int64
	// HintsMaxBytes bounds the stored hints; when they reach it, Put fails. Default 512 MiB, but no more than a quarter of MaxStore.
	HintsMaxBytes int64
	// ReloadsMaxBytes bounds the stored reloads; when they reach it, the oldest go. Default as HintsMaxBytes.
	ReloadsMaxBytes int64
	// Replicas is how many servers of an external cluster hold each stream. Zero means one for a new stream, and as it is for an old one.
	Replicas int

	// Logger gets what the server and the connection report. Default slog.Default.
	Logger *slog.Logger
	// Registerer gets the metrics reroll_queue_*; nil means none.
	Registerer prometheus.Registerer

	// maxAPILevel makes tests take the way of older servers.
	maxAPILevel int
}

const (
	defaultMaxStore   = 2 << 30
	defaultShare      = 512 << 20
	smallestStore     = 1 << 20
	noLimit           = -1
	unlimitedAPILevel = 1 << 20
)

// withDefaults returns o with its gaps filled, or what is wrong with it.
func (o Options) withDefaults() (Options, error) {
	if o.Name == "" {
		o.Name = "reroll"
	}
	if o.Role == "" {
		o.Role = RoleServe
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.maxAPILevel == 0 {
		o.maxAPILevel = unlimitedAPILevel
	}
	if o.MaxStore == 0 {
		o.MaxStore = defaultMaxStore
		if total, _, err := diskSpace(o.StoreDir); o.URL == "" && err == nil {
			o.MaxStore = min(defaultMaxStore, total/2)
		}
	}
	if o.HintsMaxBytes == 0 {
		o.HintsMaxBytes = min(defaultShare, o.MaxStore/4)
	}
	if o.ReloadsMaxBytes == 0 {
		o.ReloadsMaxBytes = min(defaultShare, o.MaxStore/4)
	}
	return o, o.validate()
}

// Validate returns what is wrong with o, as far as that can be told without reaching out.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) validate() error {
	if o.HintsMaxBytes < 0 || o.ReloadsMaxBytes < 0 || o.Replicas < 0 {
		return errors.New("queue: no size may be negative")
	}
	if o.MaxStore < smallestStore {
		return fmt.Errorf("queue: the store needs at least %d bytes, and gets %d; store folder: %q", smallestStore, o.MaxStore, o.StoreDir)
	}
	if o.URL != "" {
		return o.validateExternal()
	}
	if o.Login != (Login{}) || o.InboxPrefix != "" {
		return errors.New("queue: an embedded server needs no login")
	}
	if o.StoreDir == "" {
		return errors.New("queue: an embedded server needs a store folder")
	}
	if o.Replicas > 1 {
		return errors.New("queue: an embedded server has no replicas")
	}
	if reserved := o.HintsMaxBytes + o.ReloadsMaxBytes; reserved > o.MaxStore {
		return fmt.Errorf("queue: %d bytes for hints and reloads exceed the store limit of %d", reserved, o.MaxStore)
	}
	return nil
}

// validateExternal checks what says which external server to use, and how.
func (o Options) validateExternal() error {
	if o.Replicas != 0 && o.Replicas != 1 && o.Replicas != 3 && o.Replicas != 5 {
		return fmt.Errorf("queue: a stream has 1, 3 or 5 replicas, not %d", o.Replicas)
	}
	if strings.ContainsAny(o.InboxPrefix, "*> \t\r\n") || strings.HasSuffix(o.InboxPrefix, ".") {
		return fmt.Errorf("queue: %.80q is no prefix of subjects", o.InboxPrefix)
	}
	if err := o.Login.validate(); err != nil {
		return err
	}
	return validateURLs(o.URL)
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

// redacted returns the addresses as they may be shown.
func redacted(list string) string {
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
