package behaviour

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestEditsWithoutEnd: forty configs of one workload are edited in turn, so fast that the debounce window never ends. The workload rolls once for
// each longest wait, with all that has changed by then, and once more in the end.
func TestEditsWithoutEnd(t *testing.T) {
	const (
		configs = 40
		rounds  = 8
		pause   = 20 * time.Millisecond
		longest = 2 * time.Second
	)
	s := newRoom(t)
	s.away(false, false)
	s.back("--set", "debounce.window=1s", "--set", "debounce.maxWait="+longest.String())
	defer func() { s.away(false, false); s.back() }()
	client := shared.Kube.Client()
	for i := range configs {
		_, err := client.CoreV1().ConfigMaps(s.NS).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i)}, Data: map[string]string{"k": "0"}}, metav1.CreateOptions{})
		s.Must(err)
	}
	patterned := strings.NewReplacer(`reroll.dev/auto: "true"`, `reroll.dev/configmaps: "c*"`, "{configMapRef: {name: NAME}}", "{configMapRef: {name: c0}}").Replace(deployment)
	s.KubectlWith(fill(patterned, "web", "", "1"), "apply", "-f", "-")
	s.Quiet()
	rolls, err := line.WatchRolls(t.Context(), client, s.NS)
	s.Must(err)
	defer rolls.Stop()
	begun := time.Now()
	for round := range rounds {
		for i := range configs {
			_, err := client.CoreV1().ConfigMaps(s.NS).Patch(t.Context(), fmt.Sprintf("c%d", i), types.MergePatchType, fmt.Appendf(nil, `{"data":{"k":"%d"}}`, round+1), metav1.PatchOptions{})
			s.Must(err)
			<-time.After(pause)
		}
	}
	took := time.Since(begun)
	s.Quiet()
	got, most := len(rolls.Seen()[s.NS+"/web"]), int(took/longest)+1
	t.Logf("%d edits in %s: %d rolls", configs*rounds, took.Round(time.Millisecond), got)
	if got < 1 || got > most {
		t.Errorf("%d rolls for edits of %s, want at most %d", got, took, most)
	}
}
