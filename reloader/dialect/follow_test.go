package dialect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/workload"
)

func following(list string) *workload.Workload {
	w := &workload.Workload{Kind: "Deployment"}
	w.Namespace, w.Name = "shop", "web"
	w.Annotations = map[string]string{FollowKey: list}
	return w
}

func TestFollowIsReadItemByItem(t *testing.T) {
	flags := reloader.Config{Cluster: "c1", Kind: reloader.ConfigMap, Namespace: "shared", Name: "flags.v2"}
	token := reloader.Config{Cluster: "c2", Kind: reloader.Secret, Namespace: "shop", Name: "token"}
	tests := map[string]struct {
		list     string
		want     []reloader.Config
		problems int
		optedIn  bool
	}{
		"nothing":           {"", nil, 0, false},
		"two":               {"c1/shared/configmap/flags.v2, c2/shop/Secret/token,", []reloader.Config{flags, token}, 0, true},
		"a faulty one":      {"c1/shared/configmap/flags.v2,c2/shop/token", []reloader.Config{flags}, 1, true},
		"a kind of no file": {"c1/shared/secretproviderclass/x", nil, 1, true},
		"everything":        {"c1/shared/configmap/", nil, 1, true},
		"too many":          {strings.Repeat("c1/shared/configmap/flags.v2,", maxFollowed+2), []reloader.Config{flags}, 1, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Set{Own()}.Compile(following(tc.list))
			if diff := cmp.Diff(tc.want, got.Names); diff != "" || len(got.Problems) != tc.problems || got.OptedIn() != tc.optedIn {
				t.Errorf("%s problems %q, opted in %t", diff, got.Problems, got.OptedIn())
			}
		})
	}
}

func TestConfigsOfOtherClustersReloadFollowersAlone(t *testing.T) {
	flags := reloader.Config{Cluster: "c1", Kind: reloader.ConfigMap, Namespace: "shop", Name: "flags"}
	own := flags
	own.Cluster = ""
	decide := func(w *workload.Workload, c ConfigMeta) Decision {
		plan := All(StakaterOptions{}).Compile(w)
		return plan.Decide(c)
	}
	named := following("")
	named.Annotations = map[string]string{"configmap.reloader.stakater.com/reload": "flags"}
	if got := decide(named, ConfigMeta{Config: flags}); got.Reload {
		t.Errorf("a name in a list of another tool follows: %+v", got)
	}
	follower := following("c1/shop/configmap/flags")
	if got := decide(follower, ConfigMeta{Config: flags}); !got.Reload || got.Why != reloader.ReasonNamed || got.Clause != FollowKey {
		t.Errorf("who follows decides %+v", got)
	}
	if got := decide(follower, ConfigMeta{Config: own}); got.Reload {
		t.Errorf("one's own config of that name is followed: %+v", got)
	}
	follower = following("c1/shop/configmap/flags, c1/shared/configmap/flags")
	shared := own
	shared.Namespace = "shared"
	plan := All(StakaterOptions{}).In("c1", nil).Compile(follower)
	if diff := cmp.Diff([]reloader.Config{shared, own}, plan.Names); diff != "" {
		t.Errorf("in the cluster of the configs (-want +got):\n%s", diff)
	}
	for want, c := range map[reloader.Reason]ConfigMeta{
		reloader.ReasonNamed: {Config: shared, Followed: true}, reloader.ReasonNotShared: {Config: shared},
	} {
		if got := plan.Decide(c); got.Why != want || got.Reload != c.Followed || plan.Shows(c) != c.Followed {
			t.Errorf("in the cluster of the config: %+v, want %s", got, want)
		}
	}
}
