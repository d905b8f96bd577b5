package config

import (
	"time"

	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader/queue"
)

// Connections are where the process stores, listens and forwards.
type Connections struct {
	NATS      NATS      `yaml:"nats"`
	Hub       Hub       `yaml:"hub"`
	Ingest    Ingest    `yaml:"ingest"`
	API       API       `yaml:"api"`
	Admission Admission `yaml:"admission"`
}

// NATS configures the store of hints and records.
type NATS struct {
	// Addresses of an external NATS, comma-separated. Default: an embedded one.
	URL string `yaml:"url"`
	queue.Login
	// Replicas of each stream in an external NATS: 1, 3 or 5. 0: existing streams keep theirs, new ones get 1.
	Replicas int `yaml:"replicas"`
	// Size limit of [all streams](production.md#streams), such as `4Gi`. Default: 2Gi.
	StoreSize Size `yaml:"storeSize"`
	// Configuration file of the embedded NATS. Reloaded when it changes.
	Config string `yaml:"config"`
}

// Options returns the settings as the queue takes them; the caller adds the rest.
func (n NATS) Options() queue.Options {
	return queue.Options{URL: n.URL, Login: n.Login, Replicas: n.Replicas, MaxStore: int64(n.StoreSize), ConfigFile: n.Config}
}

// Hub configures the connection to a hub, which receives copies of the records: see [many clusters](fleet.md). The
// login keys of `nats`, `credentials` to `tlsKey`, also exist under `hub`.
type Hub struct {
	// Addresses of the hub's NATS, comma-separated.
	URL string `yaml:"url"`
	queue.Login
}

// Options returns the settings as the queue takes them.
func (h Hub) Options() queue.Options { return queue.Options{URL: h.URL, Login: h.Login} }

// Ingest receives audit events from API servers and log shippers.
type Ingest struct {
	// Address for audit events.
	Address string `yaml:"address"`
	// Server certificate file. Default: [Reroll makes one](#the-certificate-of-ingest).
	TLSCert string `yaml:"tlsCert"`
	// Server key file.
	TLSKey string `yaml:"tlsKey"`
	// CA file for [client certificates](#who-may-send-audit-events).
	TLSClientCA string `yaml:"tlsClientCA"`
	// File of [bearer tokens](#who-may-send-audit-events).
	TokenFile string `yaml:"tokenFile"`
	// Accept plain HTTP without authentication, on a loopback address only.
	InsecureHTTP bool `yaml:"insecureHTTP"`
	// Service in Reroll's own certificate, and prefix of its Secrets.
	Service string `yaml:"service" is:"label"`
	// Interval of the canaries that [check the feed](audit-events.md#whether-the-feed-works). 0: never.
	CanaryInterval time.Duration `yaml:"canaryInterval" min:"1s"`
}

// API configures the REST API and the dashboard.
type API struct {
	// Address of the API.
	Address string `yaml:"address"`
	// How clients [authenticate](api.md#who-may-ask).
	Auth string `yaml:"auth" oneOf:"none,token,anonymous"`
	// At a hub: what each group [sees](fleet.md#who-sees-what), such as `team-shop prod-*/shop`.
	Rights Rights `yaml:"rights"`
	// Accepted audiences of tokens. Default: the API server's.
	Audiences []string `yaml:"audiences"`
	// Certificate file. Default: plain HTTP.
	TLSCert string `yaml:"tlsCert"`
	// Key file.
	TLSKey string `yaml:"tlsKey"`
	// Accept tokens over HTTP, for a proxy that terminates TLS.
	InsecureHTTP bool `yaml:"insecureHTTP"`
	// With `auth: anonymous`: further host names, such as an Ingress's.
	Hosts []string `yaml:"hosts"`
}

// Admission configures the [admission webhook](admission.md).
type Admission struct {
	// Address that API servers call.
	Address string `yaml:"address"`
	// Server certificate file. Default: Reroll makes one.
	TLSCert string `yaml:"tlsCert"`
	// Server key file.
	TLSKey string `yaml:"tlsKey"`
	// MutatingWebhookConfiguration that the dispatcher updates.
	Configuration string `yaml:"configuration"`
	// Service in Reroll's own certificate.
	Service string `yaml:"service" is:"label"`
	// Lifetime of Reroll's own certificate. 0: use `tlsCert` and `tlsKey`.
	CertificateLifetime time.Duration `yaml:"certificateLifetime" min:"10s"`
}

// Default returns the default settings.
func Default() Config {
	return Config{
		Process: Process{
			ClusterName: "local", Components: []string{Ingests, Dispatches, Answers}, Source: SourceAuto, DataDir: "reroll-data",
			Kubernetes: Kubernetes{QPS: 500}, Log: Log{Level: "info", Format: "text"}, Metrics: Metrics{Address: ":9090"},
		},
		Rolling: Rolling{
			Reload:         Reload{Strategy: "env-vars", ToolMarks: true},
			Debounce:       turn.Debounce{Window: time.Second, MaxWait: defaultMaxWait},
			RolloutLimits:  RolloutLimits{Limits: turn.Limits{FlapLimit: 60}, Deadline: 10 * time.Minute},
			HotReload:      HotReload{Settle: 2 * time.Minute},
			ResyncInterval: 10 * time.Minute, Notifications: Notifications{Sink: "text"},
		},
		Connections: Connections{
			Ingest:    Ingest{Address: ":9443", Service: "reroll-ingest", CanaryInterval: time.Minute},
			API:       API{Address: "127.0.0.1:8080", Auth: AuthNone},
			Admission: Admission{Address: ":9444", Service: "reroll-admission", CertificateLifetime: 90 * 24 * time.Hour},
		},
	}
}

const defaultMaxWait = 10 * time.Second
