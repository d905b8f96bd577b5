package fleet

import (
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/tests/line"
)

// following are the annotations of a workload that follows the ConfigMap flags of c1.
var following = map[string]string{dialect.FollowKey: "c1/" + namespace + "/configmap/flags"}

// secretContent is what a Secret has that is followed.
const secretContent = "n5Wd9gQz2XvK7mTb4RcH8sJy"

// followsSecret has a Secret of the owner followed, and changed.
func (c *cluster) followsSecret(owner *cluster) {
	c.T.Helper()
	owner.Secret("token", secretContent)
	owner.Kubectl("annotate", "secret/token", dialect.FollowersKey+"="+c.name)
	c.deploy("bearer", map[string]string{dialect.FollowKey: "c1/" + namespace + "/secret/token"})
	owner.EditSecret("token", secretContent+"-2")
	c.waitRolls("bearer", 1)
}

// hides fails the test if content is in a file of the hub, or if these do not even have the name of its config.
func (h *hub) hides(content, name string) {
	h.t.Helper()
	for _, member := range h.Names() {
		found, err := line.PiecesInFiles(h.Store(member), content, name)
		line.Must(h.t, err)
		for _, form := range found {
			h.t.Errorf("content was found %s", form)
		}
	}
}
