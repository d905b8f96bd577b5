// Package showcase is a made-up fleet, large and varied enough to look at the dashboard with: every outcome, every hold, healthy and
// unwell clusters, and a long history.
//
// The same numbers make the same fleet, so that pictures of it can be compared.
package showcase

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/projection"
	"github.com/reroll-dev/reroll/reloader"
)

// Fleet fills a projection. Its times are counted back from Now. One goroutine at a time may use it.
type Fleet struct {
	Records *projection.Projection
	Now     time.Time
	rng     *rand.Rand
	seq     uint64
}

// New returns an empty fleet.
func New(now time.Time) *Fleet {
	return &Fleet{Records: projection.New(projection.Limits{}), Now: now, rng: rand.New(rand.NewPCG(1, 5))}
}

// changes is how many changes the history has.
const changes = 400

// Fill writes a fleet with a history that ends with the story, and marks it as caught up.
func (f *Fleet) Fill() {
	at := f.Now.Add(-story[len(story)-1].ago)
	for i := changes - len(story); i > 0; i-- {
		f.Change(at.Add(-time.Duration(i)*4*time.Minute + time.Duration(f.rng.IntN(150))*time.Second))
	}
	for _, s := range slices.Backward(story) {
		f.tell(s)
	}
	for _, a := range apps {
		f.Records.PutWorkload(f.workload(a))
	}
	f.Report(f.Now)
	f.Records.SetCaughtUp()
}

// Report has every dispatcher publish the status of its cluster, as it does every half minute.
func (f *Fleet) Report(now time.Time) {
	f.Now = now
	for _, c := range f.clusters() {
		f.Records.PutCluster(c)
	}
	f.Records.PutPosition("prod-us", reloader.Position{Of: "HISTORY", At: now.Add(-12 * time.Second), Behind: 40})
}

// app is one workload of the fleet and the configs that it depends on. If it is held, it waits for the first of them.
type app struct {
	cluster, namespace, kind, name string
	configs                        []string
	hold                           *reloader.Hold
}

// hot reports whether the running pods of an app are asked to reload.
func (a app) hot() bool { return a.hold != nil && a.hold.Reason == reloader.ReasonReloadFailed }

// apps has the configs of each app as kind/name; "cm" and "secret" stand for their kinds.
var apps = []app{
	{"prod-eu", "shop", "Deployment", "cart", []string{"cm/feature-flags", "cm/cart-settings", "secret/payments-api"}, nil},
	{"prod-eu", "shop", "Deployment", "checkout", []string{"cm/feature-flags", "secret/payments-api", "secret/checkout-db"}, nil},
	{"prod-eu", "shop", "Deployment", "storefront", []string{"cm/feature-flags", "cm/storefront-theme"}, nil},
	{"prod-eu", "shop", "StatefulSet", "search-index", []string{"cm/feature-flags", "cm/search-synonyms"}, &reloader.Hold{Reason: reloader.ReasonOutsideWindow}},
	{"prod-eu", "shop", "Deployment", "mailer", []string{"cm/feature-flags", "secret/smtp", "cm/mail-templates"}, &reloader.Hold{Reason: reloader.ReasonRefused, Attempts: 4, Message: refusal}},
	{"prod-eu", "payments", "Deployment", "ledger", []string{"secret/acquirer-certificates", "secret/ledger-db", "cm/ledger-settings", "secret/webhook-signing-keys-of-acquirers"}, nil},
	{"prod-eu", "payments", "DaemonSet", "card-proxy", []string{"secret/acquirer-certificates"}, &reloader.Hold{Reason: reloader.ReasonWaitingForStep, Message: "Secret/payments/acquirer-certificates"}},
	{"prod-eu", "payments", "CronJob", "settlement", []string{"secret/ledger-db", "cm/settlement-calendar"}, nil},
	{"prod-us", "shop", "Deployment", "cart", []string{"cm/feature-flags", "cm/cart-settings"}, nil},
	{"prod-us", "shop", "Deployment", "checkout", []string{"cm/feature-flags", "secret/payments-api"}, &reloader.Hold{Reason: reloader.ReasonFlapping}},
	{"prod-us", "shop", "Deployment", "storefront", []string{"cm/feature-flags", "cm/storefront-theme"}, nil},
	{"prod-us", "shop", "Deployment", "wishlist", []string{"cm/feature-flags"}, &reloader.Hold{Reason: reloader.ReasonReloadFailed, Attempts: 2, Message: "pod wishlist-2: answered with status 500 Internal Server Error"}},
	{"prod-us", "platform", "Deployment", "gateway", []string{"cm/routes", "secret/wildcard-tls", "provider/edge-keys"}, nil},
	{"staging", "platform", "Deployment", "gateway", []string{"cm/routes", "secret/wildcard-tls"}, &reloader.Hold{Reason: reloader.ReasonFrozen, Message: loadTest}},
	{"staging", "data", "Rollout", "feature-store", []string{"cm/feature-store", "secret/warehouse"}, nil},
}

const (
	refusal  = `admission webhook "policy.example.com" denied the request: image must come from the internal registry`
	loadTest = "Load test of release 42."

	flux        = "system:serviceaccount:flux-system:kustomize-controller"
	certManager = "system:serviceaccount:cert-manager:cert-manager"
)

// people change what nothing says about who changes it.
var people = []string{"alice@example.com", "bob@example.com", "chidi@example.com", "dana@example.com", flux}

var agents = map[string]string{flux: "kustomize-controller/v1.7.0", certManager: "cert-manager-certificates-issuing/v1.19"}

// keyNames are the keys of each config.
var keyNames = map[string][]string{
	"feature-flags": {"checkout.v2", "gift-cards", "new-search"}, "cart-settings": {"LOG_LEVEL", "MAX_ITEMS", "SESSION_TTL"},
	"payments-api": {"api-key", "endpoint"}, "checkout-db": {"password", "username"}, "storefront-theme": {"banner.html", "theme.css"},
	"search-synonyms": {"synonyms.txt"}, "smtp": {"host", "password"}, "mail-templates": {"receipt.html", "welcome.html"},
	"ledger-db": {"password", "username"}, "ledger-settings": {"LOG_LEVEL", "MAX_CONNECTIONS"},
	"webhook-signing-keys-of-acquirers": {"current", "previous"}, "acquirer-certificates": {"tls.crt", "tls.key"},
	"settlement-calendar": {"holidays.yaml"}, "routes": {"routes.yaml", "timeouts.yaml"}, "wildcard-tls": {"tls.crt", "tls.key"},
	"edge-keys": {"signing-key"}, "feature-store": {"BATCH_SIZE", "features.yaml"}, "warehouse": {"password"},
}

// issued reports whether a config is what cert-manager writes, all keys at once.
func issued(c reloader.Config) bool { return keyNames[c.Name][0] == "tls.crt" }

func config(namespace, name string) reloader.Config {
	kind, rest, _ := strings.Cut(name, "/")
	kinds := map[string]reloader.ConfigKind{"cm": reloader.ConfigMap, "secret": reloader.Secret, "provider": reloader.SecretProviderClass}
	return reloader.Config{Kind: kinds[kind], Namespace: namespace, Name: rest}
}

// sum is a made-up fingerprint.
func sum(n uint64) string { return fmt.Sprintf("%016x%048x", n*0x9e3779b97f4a7c15, n) }

// Handler returns the API with its dashboard over the fleet: everybody may look.
func (f *Fleet) Handler() (http.Handler, error) {
	return api.New(api.Options{Records: f.Records, Version: "v0.1.0", Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
}
