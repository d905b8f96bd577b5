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

// Wanted replaces what another cluster wants to follow here, and queues the exports for it. It ignores a cluster that wants more than
// reloader.MaxWanted configs.
func (f *Fleet) Wanted(w reloader.Want) {
	if f.Copies == nil || w.Owner != f.Cluster || w.Target == f.Cluster || len(w.Configs) > reloader.MaxWanted {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, wanted := time.Now(), make(map[reloader.Config]struct{}, len(w.Configs))
	for _, one := range w.Configs {
		wanted[one.Config] = struct{}{}
	}
	for c, e := range f.exports {
		if _, still := wanted[c]; !still {
			delete(e.targets, w.Target)
		}
		f.forget(c, e, now)
	}
	for _, one := range w.Configs {
		f.wantedBy(w.Target, one.Config, one.Number, now)
	}
}

// forget drops the clusters that have not asked for a long time, and the config if none is left.
func (f *Fleet) forget(c reloader.Config, e *export, now time.Time) {
	maps.DeleteFunc(e.targets, func(_ string, a asker) bool { return now.Sub(a.at) > wantTime })
	if len(e.targets) == 0 {
		delete(f.exports, c)
	}
}

// wantedBy notes that a cluster wants to follow c, and queues the export of c unless the cluster got an answer to this question lately.
func (f *Fleet) wantedBy(target string, c reloader.Config, number uint64, now time.Time) {
	e := f.exports[c]
	if e == nil {
		e = &export{targets: map[string]asker{}}
		f.exports[c] = e
	}
	was, known := e.targets[target]
	e.targets[target] = asker{now, number}
	answered := known && was.number == number && now.Sub(e.looked) <= exportTime
	if !answered && f.mayLookFor(target, now) {
		f.Queue.Add(c)
	}
}

// mayLookFor reports whether a config may be looked at now because a cluster asks. If not, the cluster asks again.
func (f *Fleet) mayLookFor(target string, now time.Time) bool {
	if f.limits[target] == nil {
		f.limits[target] = rate.NewLimiter(rate.Limit(exportsPerSecond), exportBurst)
	}
	return f.limits[target].AllowN(now, 1)
}

// Touched queues the export of c if a cluster wants it. It is for each hint about c and each change of c. A config without a name stands for all of
// its kind and namespace.
func (f *Fleet) Touched(c reloader.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.exports[c] != nil {
		f.Queue.Add(c)
	}
	if c.Name != "" {
		return
	}
	for one := range f.exports {
		if one.Kind == c.Kind && one.Namespace == c.Namespace {
			f.Queue.Add(one)
		}
	}
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
