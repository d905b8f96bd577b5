package fleet

import (
	"maps"
	"time"

	"golang.org/x/time/rate"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/live"
)

const (
	// wantTime is how long a cluster is remembered that does not ask again. While this cluster or the other is cut off from the hub, each change is
	// still recorded with its author, and the newest is sent.
	wantTime = 24 * time.Hour
	// exportTime is the interval after which a config is looked at again because clusters ask, although no hint came.
	exportTime = time.Minute
	// exportsPerSecond is the rate of looks because one cluster asks, after a burst of exportBurst: each config that it may want, once in exportTime.
	exportsPerSecond, exportBurst = float64(reloader.MaxWanted) / float64(exportTime/time.Second), reloader.MaxWanted
)

// exports are the configs of this cluster that clusters want to follow.
type exports struct {
	queue   Queue
	configs map[reloader.Config]*export
	// limits bounds, by cluster, how often configs are looked at because it asks.
	limits map[string]*rate.Limiter
}

// export is a config that clusters want to follow.
type export struct {
	targets map[string]asker
	// looked is when the last look began.
	looked time.Time
	// open says that the last look found that one of the targets may follow.
	open bool
}

// asker is a cluster that wants to follow a config: when it asked last, and the number that it gave.
type asker struct {
	at     time.Time
	number uint64
}

func (x *exports) want(w reloader.Want, now time.Time) {
	wanted := make(map[reloader.Config]struct{}, len(w.Configs))
	for _, one := range w.Configs {
		wanted[one.Config] = struct{}{}
	}
	for c, e := range x.configs {
		if _, still := wanted[c]; !still {
			delete(e.targets, w.Target)
		}
		x.forget(c, e, now)
	}
	for _, one := range w.Configs {
		x.wantedBy(w.Target, one.Config, one.Number, now)
	}
}

// forget drops the clusters that have not asked for a long time, and the config if none is left.
func (x *exports) forget(c reloader.Config, e *export, now time.Time) {
	maps.DeleteFunc(e.targets, func(_ string, a asker) bool { return now.Sub(a.at) > wantTime })
	if len(e.targets) == 0 {
		delete(x.configs, c)
	}
}

// wantedBy notes that a cluster wants to follow c, and queues the export of c unless the cluster got an answer to this question lately.
func (x *exports) wantedBy(target string, c reloader.Config, number uint64, now time.Time) {
	e := x.configs[c]
	if e == nil {
		e = &export{targets: map[string]asker{}}
		x.configs[c] = e
	}
	was, known := e.targets[target]
	e.targets[target] = asker{now, number}
	answered := known && was.number == number && now.Sub(e.looked) <= exportTime
	if !answered && x.mayLookFor(target, now) {
		x.queue.Add(c)
	}
}

// mayLookFor reports whether a config may be looked at now because a cluster asks. If not, the cluster asks again.
func (x *exports) mayLookFor(target string, now time.Time) bool {
	if x.limits[target] == nil {
		x.limits[target] = rate.NewLimiter(rate.Limit(exportsPerSecond), exportBurst)
	}
	return x.limits[target].AllowN(now, 1)
}

// begin begins an Export of c for e, and returns whom to tell.
func (x *exports) begin(c reloader.Config, e *export, now time.Time) map[string]asker {
	x.forget(c, e, now)
	e.looked = now
	return maps.Clone(e.targets)
}

// touch has c exported, or all of its kind and namespace if it has no name.
func (x *exports) touch(c reloader.Config) {
	if x.configs[c] != nil {
		x.queue.Add(c)
	}
	if c.Name != "" {
		return
	}
	for one := range x.configs {
		if one.Kind == c.Kind && one.Namespace == c.Namespace {
			x.queue.Add(one)
		}
	}
}

func (x *exports) wants(target string, c reloader.Config) bool {
	e := x.configs[c]
	if e == nil {
		return false
	}
	_, wanted := e.targets[target]
	return wanted
}

// lets reports whether a config with that metadata lets one of the targets follow.
func lets(m live.Meta, targets map[string]asker) bool {
	for target := range targets {
		if Allows(m, target) {
			return true
		}
	}
	return false
}
