package behaviour

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// noted are entries of the ledger.
type noted = map[reloader.WorkloadRef]string

func shop(name string) reloader.WorkloadRef {
	return reloader.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: name}
}

// ledgers are two processes with one ledger on the API server, in a namespace of its own.
type ledgers struct {
	t        *testing.T
	own      corev1client.ConfigMapInterface
	one, two *kube.Ledger
}

func newLedgers(t *testing.T) *ledgers {
	t.Helper()
	ns := shared.Kube.Namespace(t)
	l := &ledgers{t: t, own: shared.Kube.Client().CoreV1().ConfigMaps(ns)}
	for _, process := range []**kube.Ledger{&l.one, &l.two} {
		c, err := kube.Connect(t.Context(), kube.Options{Kubeconfig: shared.Kube.Kubeconfig(), Namespace: ns, QPS: 100, Burst: 200})
		if err != nil {
			t.Fatal(err)
		}
		*process = kube.NewLedger(c)
		l.load(*process)
		if err := (*process).Watch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *ledgers) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *ledgers) load(process *kube.Ledger) (noted, time.Time) {
	l.t.Helper()
	entries, born, err := process.Load(l.t.Context())
	l.must(err)
	return entries, born
}

// learns waits until a process is told by its watch alone that the ledger is want.
func (l *ledgers) learns(process *kube.Ledger, want noted) {
	l.t.Helper()
	line.Eventually(l.t, "a ledger that somebody else wrote", func(ctx context.Context) error {
		got, changed, err := process.Changed(ctx, "shop")
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); !changed || diff != "" {
			return fmt.Errorf("changed: %v (-want +got):\n%s", changed, diff)
		}
		return nil
	})
}

// stored returns the ConfigMaps with a label's value and their versions.
func (l *ledgers) stored(value string) map[string]string {
	l.t.Helper()
	found, err := l.own.List(l.t.Context(), metav1.ListOptions{LabelSelector: "reroll.dev/ledger=" + value})
	l.must(err)
	versions := map[string]string{}
	for _, m := range found.Items {
		versions[m.Name] = m.ResourceVersion
	}
	return versions
}

// TestLedger: two processes share a ledger; of two writes from one state the API server takes one. ConfigMaps that are deleted are there
// afterwards, what cannot be read changes no entry, and what is too large for one ConfigMap is in several.
func TestLedger(t *testing.T) {
	l := newLedgers(t)
	ctx := t.Context()
	_, born := l.load(l.one)
	birth, err := l.own.Get(ctx, kube.LedgerName, metav1.GetOptions{})
	l.must(err)
	if !born.Equal(birth.CreationTimestamp.Time) {
		t.Errorf("born %s, created %s", born, birth.CreationTimestamp)
	}

	want := noted{shop("a"): "1", shop("b"): "1"}
	l.must(l.one.Put(ctx, "shop", want))
	l.learns(l.two, want)
	l.must(l.two.Put(ctx, "shop", noted{shop("a"): "2"}))
	if err := l.one.Put(ctx, "shop", noted{shop("a"): "3"}); !errors.Is(err, kube.ErrLedgerMoved) {
		t.Errorf("the second write of one state: %v", err)
	}
	want[shop("a")] = "2"
	l.learns(l.one, want)
	l.must(l.one.Put(ctx, "shop", noted{shop("a"): "3"}))
	want[shop("a")] = "3"
	l.learns(l.two, want)

	l.must(l.own.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "reroll.dev/namespace=shop"}))
	l.learns(l.one, want)
	for _, foreign := range []string{`"x"`, "null"} {
		_, err = l.own.Patch(ctx, "reroll-ledger-shop.0", types.MergePatchType, []byte(`{"data":{"what":`+foreign+`}}`), metav1.PatchOptions{})
		l.must(err)
		l.learns(l.one, want)
	}
	if got, _ := l.load(l.two); !maps.Equal(got, want) {
		t.Errorf("stored is %v, want %v", got, want)
	}

	for i := range 1200 {
		want[shop(fmt.Sprint("w", i))] = strings.Repeat("x", 600)
	}
	l.must(l.one.Put(ctx, "shop", want))
	l.learns(l.two, want)
	before := l.stored("current")
	l.must(l.two.Put(ctx, "shop", noted{shop("w7"): ""}))
	delete(want, shop("w7"))
	after := l.stored("current")
	if got, _ := l.load(l.one); !maps.Equal(got, want) {
		t.Errorf("%d entries are stored, want %d", len(got), len(want))
	}
	maps.DeleteFunc(after, func(name, version string) bool { return before[name] == version })
	if len(before) != 4 || len(after) != 1 {
		t.Errorf("ConfigMaps %v, written for one entry %v", before, after)
	}
	all := noted{}
	for r := range want {
		all[r] = ""
	}
	l.must(l.one.Put(ctx, "shop", all))
	if left := l.stored("current"); len(left) != 1 {
		t.Errorf("ConfigMaps of an empty ledger: %v", left)
	}
}

// TestLedgerSize: the API server takes a ConfigMap as large and with as many keys as the ledger writes.
func TestLedgerSize(t *testing.T) {
	l := newLedgers(t)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{}}
	for i := range 8000 {
		m.Data[fmt.Sprintf("Deployment.a-workload-of-an-ordinary-name-%d", i)] = strings.Repeat("x", 45)
	}
	if _, err := l.own.Create(t.Context(), m, metav1.CreateOptions{FieldManager: "reroll"}); err != nil {
		t.Error(err)
	}
}
