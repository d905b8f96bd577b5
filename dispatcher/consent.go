package dispatcher

import (
	"github.com/reroll-dev/reroll/dispatcher/fleet"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
)

// A workload can name a config of another namespace, and anyone who writes the workload need not be allowed to see that config. Its metadata says
// whether it is shown to the workload (see dialect.ShareKey). Until it does, the config is absent as far as that workload is concerned: its
// record, its marks and its reloads are those of a workload that names a config which does not exist. If a config is not shown to anyone who
// names it, only its metadata is read, and nothing is recorded of it.

func (d *common) metaOf(c reloader.Config, f fact) dialect.ConfigMeta {
	return dialect.ConfigMeta{
		Config: c, Annotations: f.Annotations, Labels: f.Labels, Unselected: f.Unselected, Followed: c.Cluster == "" && fleet.Allows(f.Meta, d.Cluster),
	}
}
