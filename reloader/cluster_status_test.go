package reloader_test

import (
	"time"

	"github.com/reroll-dev/reroll/reloader"
)

var wholeCluster = reloader.ClusterStatus{
	Cluster: "blue", UID: "u-9", Version: "v1.2.3", Instance: "reroll-0", StartedAt: at, At: at.Add(time.Hour), Ready: true, DryRun: true,
	Faults:  []reloader.Fault{{Part: "nats", Reason: "away"}},
	Sources: []reloader.SourceStatus{{Source: reloader.SourceAudit, Hints: 12, LastAt: at.Add(time.Minute)}},
	Feeds:   []reloader.FeedStatus{{Address: "10.0.0.1:6443", State: "heard", LastAt: at.Add(2 * time.Minute)}},
	SweptAt: at.Add(3 * time.Minute), Drift: 2, Workloads: 5, Pending: 3, Held: map[reloader.Reason]int{reloader.ReasonFrozen: 2},
	Freeze:         reloader.Freeze{Frozen: true, Reason: "release", Until: at.Add(2 * time.Hour)},
	Pauses:         []reloader.Pause{{Namespace: "shop", Selector: "app=cart", Until: at.Add(3 * time.Hour), Reason: "sale"}},
	Windows:        []reloader.Window{{Schedule: "0 22 * * 1-5 6h", Open: true, Next: at.Add(4 * time.Hour)}},
	ControlProblem: "ConfigMap reroll-control: control.yaml: unknown field",
}
