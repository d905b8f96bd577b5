package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/reroll-dev/reroll/reloader/workload"
)

// discovering returns an optional kind whose API server answers questions about its group with answer, and what its roster says.
func discovering(t *testing.T, answer http.HandlerFunc) (*optional, *said) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/apis/argoproj.io/v1alpha1", answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{client: client, dynamic: untyped, options: Options{KeepAnnotation: func(string) bool { return false }}}
	var s said
	return &optional{cluster: c, kind: workload.Rollout, roster: s.roster()}, &s
}

func TestServed(t *testing.T) {
	list := func(resources string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"argoproj.io/v1alpha1","resources":[` + resources + `]}`))
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	cases := map[string]struct {
		reason string
		answer http.HandlerFunc
		want   bool
		fails  bool
	}{
		"served":     {"it can be watched", list(`{"name":"rollouts","kind":"Rollout","verbs":["get","list","watch"]}`), true, false},
		"no group":   {"nothing of it is installed", status(http.StatusNotFound), false, false},
		"others":     {"its neighbours are no proof", list(`{"name":"rollouts/status","verbs":["watch"]},{"name":"workflows","verbs":["watch"]}`), false, false},
		"no watch":   {"it cannot be watched", list(`{"name":"rollouts","verbs":["get"]}`), false, false},
		"starting":   {"nobody knows", status(http.StatusServiceUnavailable), false, true},
		"forbidden":  {"nobody knows", status(http.StatusForbidden), false, true},
		"not a list": {"nobody knows", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, false, true},
	}
	for name, c := range cases {
		o, _ := discovering(t, c.answer)
		got, err := o.served(t.Context())
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %t, %v: %s", name, got, err, c.reason)
		}
	}
}

func TestOneAnswerThatAKindIsGoneIsNotBelieved(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o, heard := discovering(t, http.NotFound)
	o.roster.put(rollout("a"))
	settle := func(served bool) bool {
		t.Helper()
		if err := o.settle(ctx, served); err != nil {
			t.Fatal(err)
		}
		return o.stop != nil
	}
	for i, step := range []struct {
		served, watched bool
		reason          string
	}{
		{false, false, "it was never there"},
		{true, true, "it came"},
		{true, true, "it stays"},
		{false, true, "once may be an API server that starts"},
		{true, true, "it was there all the time"},
		{false, true, "the count begins anew"},
		{false, false, "it is gone"},
		{false, false, "it stays away"},
		{true, true, "it came back"},
	} {
		if got := settle(step.served); got != step.watched {
			t.Errorf("step %d: watched %t: %s", i, got, step.reason)
		}
	}
	if diff := cmp.Diff(&said{"+Rollout a", "-Rollout a"}, heard); diff != "" {
		t.Errorf("a kind that is gone is forgotten once (-want +got):\n%s", diff)
	}
	o.unwatch()
}

func TestAbsenceIsNoNoise(t *testing.T) {
	var log bytes.Buffer
	// Not the logger of the whole process, which watches of other tests may still write to.
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{}, nil, nil, cache.ReflectorOptions{Name: "rollouts"})
	absent := apierrors.NewNotFound(workload.Rollout.Resource.GroupResource(), "")
	quietlyAbsent(ctx, reflector, fmt.Errorf("list: %w", absent))
	if log.Len() > 0 {
		t.Errorf("a resource that is not served is logged: %s", log.String())
	}
	quietlyAbsent(ctx, reflector, errors.New("no permission"))
	if !strings.Contains(log.String(), "no permission") {
		t.Errorf("another error is not logged: %q", log.String())
	}
}
