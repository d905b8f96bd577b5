package notify

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// AlertOptions say where alerts go. URL is required.
type AlertOptions struct {
	// URL is the address of the sink; it is a secret.
	URL string
	// Sink is slack, teams or gchat; anything else means plain text.
	Sink string
	// Proxy is the address of an HTTP or SOCKS proxy; empty means a direct connection.
	Proxy string
	// AdditionalInfo is put in front of each text.
	AdditionalInfo string
	// Version is Reroll's.
	Version string
}

const (
	// alertBacklog bounds the alerts that wait to be sent; more are dropped.
	alertBacklog = 1024
	// lastAlerts bounds the time in which alerts that wait at the end are still sent.
	lastAlerts = 5 * time.Second
)

// Alerts posts a sentence about each config of each reload that rolled its workload. Make it with NewAlerts.
type Alerts struct {
	endpoint
	sink     sink
	info     string
	logger   *slog.Logger
	queue    chan alert
	outcomes *prometheus.CounterVec
}

// alert is a sentence about a workload.
type alert struct {
	workload reloader.WorkloadRef
	text     string
	// reload is the ID of the reload that it tells of.
	reload string
}

// What becomes of an alert: the label values of reroll_alerts_total.
const (
	alertSent    = "sent"
	alertFailed  = "failed"
	alertDropped = "dropped"
)

// NewAlerts returns Alerts that are sent while Run runs. It fails if an address is not a URL.
func NewAlerts(o AlertOptions, logger *slog.Logger, r prometheus.Registerer) (*Alerts, error) {
	e, err := newEndpoint(o.URL, o.Proxy, o.Version)
	if err != nil {
		return nil, fmt.Errorf("address of the alerts: %w", err)
	}
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "reroll_alerts_total", Help: "Alerts about reloads, by what became of them.",
	}, []string{"result"})
	if err := r.Register(outcomes); err != nil {
		return nil, fmt.Errorf("metrics of the alerts: %w", err)
	}
	for _, result := range []string{alertSent, alertFailed, alertDropped} {
		outcomes.WithLabelValues(result)
	}
	return &Alerts{
		endpoint: e, sink: sinkNamed(o.Sink), info: o.AdditionalInfo, logger: logger,
		queue: make(chan alert, alertBacklog), outcomes: outcomes,
	}, nil
}

// Announce queues the alerts of a reload that rolled its workload. It does not block.
func (a *Alerts) Announce(_ *workload.Workload, r reloader.Reload) {
	if r.Outcome != reloader.ReasonReloaded {
		return
	}
	for _, text := range sentences(r, a.info) {
		select {
		case a.queue <- alert{r.Workload, text, r.ID}:
		default:
			a.count(alertDropped, 1)
		}
	}
}

// Run sends alerts, one after the other, until ctx ends, and then those that wait, as far as there is time.
func (a *Alerts) Run(ctx context.Context) error {
	defer a.close()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case next := <-a.queue:
			// A try that is under way when ctx ends is finished: its answer says whether the alert is out.
			a.conclude(next, retry(ctx, func() error { return a.send(context.WithoutCancel(ctx), next) }))
		}
	}
	a.sendLast(ctx)
	return nil
}

// sendLast sends what is queued, each alert once, although ctx has ended.
func (a *Alerts) sendLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAlerts)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case next := <-a.queue:
			a.conclude(next, a.send(ctx, next))
		default:
			return
		}
	}
	a.count(alertDropped, len(a.queue))
}

func (a *Alerts) send(ctx context.Context, next alert) error {
	return a.post(ctx, a.sink.encode(next.text), nil, a.sink.accepts)
}

// conclude takes note of what became of an alert.
func (a *Alerts) conclude(done alert, err error) {
	if err == nil {
		a.count(alertSent, 1)
		return
	}
	a.count(alertFailed, 1)
	a.logger.Warn("alert was not sent", "workload", done.workload.String(), "reload", done.reload, "sink", a.sink.name, "error", err)
}

func (a *Alerts) count(result string, n int) { a.outcomes.WithLabelValues(result).Add(float64(n)) }
