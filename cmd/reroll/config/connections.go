package config

import (
	"time"

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

// Login is how a process logs in to a NATS server.
type Login struct {
	// Credentials file, with a JWT and its key.
	Credentials string `yaml:"credentials"`
	// Name of the user, whose password is in `passwordFile`.
	User string `yaml:"user"`
	// File with the password of the user.
	PasswordFile string `yaml:"passwordFile"`
	// File of the CA of the server's certificate. Default: the system's. This and `tlsCert` require TLS.
	TLSCA string `yaml:"tlsCA"`
	// File of the client certificate.
	TLSCert string `yaml:"tlsCert"`
	// File of the client certificate's key.
	TLSKey string `yaml:"tlsKey"`
}

// Queue returns the login as the queue takes it.
func (l Login) Queue() queue.Login {
	return queue.Login{Credentials: l.Credentials, User: l.User, PasswordFile: l.PasswordFile, CAFile: l.TLSCA, CertFile: l.TLSCert, KeyFile: l.TLSKey}
}

// NATS is where records are stored.
type NATS struct {
	// Addresses of an external NATS, separated by commas. Empty runs an embedded one. `REROLL_NATS_URL` in the environment wins.
	URL string `yaml:"url"`
	Login
	// How many servers of an external NATS hold each stream: 1, 3 or 5. 0 is 1 for new streams, and leaves others as they are.
	Replicas int `yaml:"replicas"`
	// Bytes that the store may take, such as `4Gi`: a quarter for hints, half for changes and reloads, and the rest for the state. Default: 2Gi.
	StoreSize Size `yaml:"storeSize"`
	// File with a NATS configuration for the embedded NATS: accounts, limits and where it listens. With the accounts of `reroll hub permissions` it is a
	// hub. Changes are taken within seconds. Where it stores is for `dataDir` to say.
	Config string `yaml:"config"`
}

// Options returns the settings as the queue takes them; what else it needs is the caller's to add.
func (n NATS) Options() queue.Options {
	return queue.Options{URL: n.URL, Login: n.Queue(), Replicas: n.Replicas, MaxStore: int64(n.StoreSize), ConfigFile: n.Config}
}

// Hub is where the records of the cluster are forwarded to.
type Hub struct {
	// Addresses of the NATS of a hub, separated by commas. Empty forwards nothing.
	URL string `yaml:"url"`
	Login
}

// Options returns the settings as the queue takes them.
func (h Hub) Options() queue.Options { return queue.Options{URL: h.URL, Login: h.Queue()} }

// Ingest is where API servers and log shippers post audit events.
type Ingest struct {
	// Address for `POST /v1/audit/{cluster}` and `POST /v1/shipped/{cluster}`.
	Address string `yaml:"address"`
	// File of the server certificate, which a process without `dispatch` waits for. Empty: Reroll makes and renews one.
	TLSCert string `yaml:"tlsCert"`
	// File of the server certificate's key.
	TLSKey string `yaml:"tlsKey"`
	// File of the CA of client certificates, whose name is `<cluster>.audit.reroll.dev`.
	TLSClientCA string `yaml:"tlsClientCA"`
	// File of bearer tokens, a line `cluster:token` for each.
	TokenFile string `yaml:"tokenFile"`
	// Plain HTTP without authentication, on a loopback address only.
	InsecureHTTP bool `yaml:"insecureHTTP"`
	// Service for which Reroll makes a certificate: its CA is kept in the Secret `<service>-ca`, the certificate in `<service>-tls`.
	Service string `yaml:"service" is:"label"`
	// Interval at which the ConfigMap and the Secret `reroll-canary` are updated through each API server, to check that their audit events arrive. 0
	// is never.
	CanaryInterval time.Duration `yaml:"canaryInterval" min:"1s"`
}

// API is the REST API and the dashboard.
type API struct {
	// Address of the API.
	Address string `yaml:"address"`
	// How clients prove who they are. `none`: not at all, on a loopback address only. `token`: by a token of the API server, which also decides what they may
	// read. `anonymous`: every client that reaches the address may read everything.
	Auth string `yaml:"auth" oneOf:"none,token,anonymous"`
	// Audiences of which a token must have one. Empty means those of the API server.
	Audiences []string `yaml:"audiences"`
	// File of the API's certificate. Empty means plain HTTP.
	TLSCert string `yaml:"tlsCert"`
	// File of the key of the API's certificate.
	TLSKey string `yaml:"tlsKey"`
	// Accept tokens over plain HTTP on any address, behind something that encrypts.
	InsecureHTTP bool `yaml:"insecureHTTP"`
	// For `anonymous`: names of the API besides addresses, localhost and names of clusters and local networks, such as that of an Ingress.
	Hosts []string `yaml:"hosts"`
}

// Admission is the admission webhook, which keeps marks while others write workloads.
type Admission struct {
	// Address that API servers call.
	Address string `yaml:"address"`
	// File of the server certificate. Empty: Reroll makes and renews one.
	TLSCert string `yaml:"tlsCert"`
	// File of the server certificate's key.
	TLSKey string `yaml:"tlsKey"`
	// MutatingWebhookConfiguration in which the dispatcher keeps the secret path and the CA. Empty: the dispatcher keeps none.
	Configuration string `yaml:"configuration"`
	// Service for which Reroll makes a certificate.
	Service string `yaml:"service" is:"label"`
	// Lifetime of a certificate that Reroll makes. It is renewed when a third is left. 0 makes none: the webhook has it in files.
	CertificateLifetime time.Duration `yaml:"certificateLifetime" min:"10s"`
}

// Default returns the settings that nobody has changed.
func Default() Config {
	return Config{
		Process: Process{
			ClusterName: "local", Components: []string{Ingests, Dispatches, Answers}, Source: SourceAuto, DataDir: "reroll-data",
			Kubernetes: Kubernetes{QPS: 500}, Log: Log{Level: "info", Format: "text"}, Metrics: Metrics{Address: ":9090"},
		},
		Rolling: Rolling{
			Reload: Reload{
				Strategy: "env-vars", ToolMarks: true,
				Dialects: []string{"reroll", "stakater", "sap", "wave", "collaborne", "fabric8", "trigger"},
			},
			Debounce:       Debounce{Window: time.Second, MaxWait: defaultMaxWait},
			RolloutLimits:  RolloutLimits{FlapLimit: 60, Deadline: 10 * time.Minute},
			ResyncInterval: 10 * time.Minute, Notifications: Notifications{Sink: "text"},
		},
		Connections: Connections{
			Ingest:    Ingest{Address: ":9443", Service: "reroll-ingest", CanaryInterval: time.Minute},
			API:       API{Address: "127.0.0.1:8080", Auth: AuthNone},
			Admission: Admission{Address: ":9444", Service: "reroll-admission", CertificateLifetime: 90 * 24 * time.Hour},
		},
	}
}

// defaultMaxWait is the default of debounce.maxWait.
const defaultMaxWait = 10 * time.Second
