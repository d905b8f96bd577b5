package kube

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/reloader"
)

// server is an API server in memory that gives each write a version, and refuses one that names another version.
type server struct {
	*fake.Clientset
	serial int
	// writes has each write as verb and name.
	writes []string
	// fail is asked before each write; nil fails none.
	fail func(write string) error
}

func newServer(objects ...runtime.Object) *server {
	s := &server{Clientset: fake.NewClientset(objects...), serial: 100}
	s.PrependReactor("*", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		switch a := action.(type) {
		case clienttesting.UpdateActionImpl:
			m := a.Object.(*corev1.ConfigMap)
			return s.write(action, m, m.ResourceVersion, func() error { return s.Tracker().Update(action.GetResource(), m, m.Namespace) })
		case clienttesting.CreateActionImpl:
			m := a.Object.(*corev1.ConfigMap)
			m.CreationTimestamp = metav1.NewTime(time.Unix(int64(s.serial+1), 0))
			return s.write(action, m, "", func() error { return s.Tracker().Create(action.GetResource(), m, m.Namespace) })
		case clienttesting.DeleteActionImpl:
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: a.Namespace}}
			version := ""
			if p := a.DeleteOptions.Preconditions; p != nil {
				version = *p.ResourceVersion
			}
			return s.write(action, m, version, func() error { return s.Tracker().Delete(action.GetResource(), m.Namespace, m.Name) })
		}
		return false, nil, nil
	})
	return s
}

func (s *server) write(action clienttesting.Action, m *corev1.ConfigMap, version string, commit func() error) (bool, runtime.Object, error) {
	write := action.GetVerb() + " " + strings.TrimPrefix(m.Name, LedgerName)
	if s.fail != nil {
		if err := s.fail(write); err != nil {
			return true, nil, err
		}
	}
	there, err := s.Tracker().Get(action.GetResource(), m.Namespace, m.Name)
	if err == nil && version != "" && there.(*corev1.ConfigMap).ResourceVersion != version {
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), m.Name, errors.New("another version"))
	}
	s.serial++
	m.ResourceVersion = strconv.Itoa(s.serial)
	if err := commit(); err != nil {
		return true, nil, err
	}
	s.writes = append(s.writes, write)
	return true, m.DeepCopy(), nil
}

// written returns the writes since the last call.
func (s *server) written() (writes []string) {
	writes, s.writes = s.writes, nil
	return writes
}

func (s *server) ledger() *Ledger {
	return NewLedger(newCluster(&connection{client: s, Namespace: "ops", options: Options{Logger: slog.New(slog.DiscardHandler)}}))
}

// edit changes a ConfigMap as somebody else does.
func (s *server) edit(t *testing.T, name string, change func(*corev1.ConfigMap)) {
	t.Helper()
	client := s.CoreV1().ConfigMaps("ops")
	m, err := client.Get(t.Context(), LedgerName+name, metav1.GetOptions{})
	if err == nil {
		change(m)
		_, err = client.Update(t.Context(), m, metav1.UpdateOptions{})
	}
	must(t, err)
}

type noted = map[reloader.WorkloadRef]string

func loaded(t *testing.T, l *Ledger) noted {
	t.Helper()
	got, _, err := l.Load(t.Context())
	must(t, err)
	return got
}

func put(t *testing.T, l *Ledger, changed noted) {
	t.Helper()
	must(t, l.Put(t.Context(), "shop", changed))
}

func same[V any](t *testing.T, what string, want, got V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
