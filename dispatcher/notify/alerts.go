package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
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
	// lastAlerts bounds the time to send waiting alerts at the end.
	lastAlerts = 5 * time.Second
	// tries is how often an alert is posted before it is given up.
	tries = 4
	// firstPause is the pause after the first try; each later one is twice as long.
	firstPause = time.Second
	// longestPause bounds what Retry-After can ask for, since other alerts wait behind this one.
	longestPause = 30 * time.Second
	// maxTextBytes bounds the text of an alert; Google Chat takes no more.
	maxTextBytes = 4096
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
	// reload is the ID of its reload.
	reload string
}

// Results of alerts: the label values of reroll_alerts_total.
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

// Announce queues the alerts of a reload that gave its workload new content. It does not block.
func (a *Alerts) Announce(_ *workload.Workload, r reloader.Reload) {
	if r.Outcome != reloader.ReasonReloaded && !slices.Contains(reloader.HotReasons, r.Outcome) {
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

// Run sends alerts, one after the other, until ctx ends, and then once each of those that wait, as far as there is time.
func (a *Alerts) Run(ctx context.Context) error {
	defer (&http.Client{Transport: a.transport}).CloseIdleConnections()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case next := <-a.queue:
			a.conclude(next, a.retry(ctx, next))
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAlerts)
	defer cancel()
	for last.Err() == nil && len(a.queue) > 0 {
		next := <-a.queue
		a.conclude(next, a.send(last, next))
	}
	a.count(alertDropped, len(a.queue))
	return nil
}

// retry sends an alert until that succeeds, fails for good, was tried often enough, or ctx has ended. A try that is under way then is finished: its
// answer says whether the alert is out.
func (a *Alerts) retry(ctx context.Context, next alert) error {
	for try := 1; ; try++ {
		err := a.send(context.WithoutCancel(ctx), next)
		status, answered := errors.AsType[*StatusError](err)
		if err == nil || try == tries || answered && !status.transient() || ctx.Err() != nil {
			return err
		}
		pause := firstPause << (try - 1)
		if answered {
			pause = status.pause(pause)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
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

// sentences returns one sentence for each config behind r, word for word as Stakater Reloader says it, so that filters that people have built on it
// continue working. A config that changed several times gets one.
func sentences(r reloader.Reload, info string) []string {
	if info = strings.TrimSpace(info); info != "" {
		info += " : "
	}
	var texts []string
	told := map[reloader.Config]bool{}
	for _, cause := range r.Causes {
		if c, w := cause.Config, r.Workload; !told[c] {
			told[c] = true
			texts = append(texts, clip(info+fmt.Sprintf(
				"Reloader detected changes in *%s* of type *%s* in namespace *%s*. Hence reloaded *%s* of type *%s* in namespace *%s*",
				c.Name, strings.ToUpper(string(c.Kind)), c.Namespace, w.Name, w.Kind, w.Namespace), maxTextBytes))
		}
	}
	return texts
}

// clip returns valid text of at most limit bytes.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
