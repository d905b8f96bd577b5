package mark

import (
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// Fabric8 writes a variable into every regular container, as configmapcontroller of fabric8 does. A container that was added later may lack
// it until the next roll.
var Fabric8 = variables("fabric8", func(_ *workload.Workload, c reloader.Config) (Place, error) {
	return Place{Env: workload.Fabric8Prefix + Variable(c.Name) + "_CONFIGMAP"}, nil
}, false)
