package kube

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var (
	errOwn = errors.New("own error")
	errCut = errors.New("no route to host")
)

func candidate(client *fake.Clientset) *Cluster {
	return newCluster(&connection{vital: client, Namespace: "ops"})
}

func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	spec := lease(t, client).Spec
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}

// cut has all updates fail while the switch is on, except those that write a spared holder.
func cut(client *fake.Clientset, spared string) *atomic.Bool {
	off := &atomic.Bool{}
	client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		held := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease).Spec.HolderIdentity
		if off.Load() && (held == nil || *held != spared) {
			return true, nil, errCut
		}
		return false, nil, nil
	})
	return off
}

// term is when somebody led.
type term struct {
	who        string
	begin, end time.Time
	cause      error
}

// stage is who led when, and who leads.
type stage struct {
	mu    sync.Mutex
	terms []term
}

func (s *stage) play(who string) func(ctx, term context.Context) error {
	return func(ctx, _ context.Context) error {
		begin := time.Now()
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.terms = append(s.terms, term{who, begin, time.Now(), context.Cause(ctx)})
		return context.Cause(ctx)
	}
}

func TestLeadGivesUpAfterTheWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, registry := fake.NewClientset(), prometheus.NewRegistry()
		c := candidate(client)
		ctx, cancel := context.WithCancel(t.Context())
		show := func(value string) {
			t.Helper()
			text := "# HELP reroll_leader 1 while this process leads, otherwise 0.\n# TYPE reroll_leader gauge\nreroll_leader " + value + "\n"
			if err := testutil.GatherAndCompare(registry, strings.NewReader(text), "reroll_leader"); err != nil {
				t.Error(err)
			}
		}
		err := c.Lead(ctx, "a", registry, func(ctx, _ context.Context) error {
			if show("1"); holder(t, client) != "a" {
				t.Errorf("the holder is %q", holder(t, client))
			}
			cancel()
			<-ctx.Done()
			<-time.After(time.Minute) // work that is slow to end
			if c.Leading() || holder(t, client) != "a" {
				t.Errorf("while the work ends: leading %t, holder %q", c.Leading(), holder(t, client))
			}
			if renewed := lease(t, client).Spec.RenewTime.Time; time.Since(renewed) > 2*leaseRetry {
				t.Errorf("the lease was not renewed for %s while the work ended", time.Since(renewed))
			}
			return errOwn
		})
		if !errors.Is(err, errOwn) {
			t.Errorf("error %v, want that of the work", err)
		}
		if show("0"); holder(t, client) != "" {
			t.Errorf("%q still holds the lease", holder(t, client))
		}
	})
}

func lease(t *testing.T, client *fake.Clientset) *coordinationv1.Lease {
	t.Helper()
	l, err := client.CoordinationV1().Leases("ops").Get(context.WithoutCancel(t.Context()), LeaseName, metav1.GetOptions{})
	must(t, err)
	return l
}

// The old leader stops 5 s before the new one may begin, says why, and takes nothing away from it when it ends.
func TestLostLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := fake.NewClientset(), &stage{}
		off := cut(client, "b")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		ended := make(chan error, 1)
		lead := func(who string) {
			c := candidate(client)
			all.Go(func() {
				if err := c.Lead(ctx, who, prometheus.NewRegistry(), s.play(who)); who == "a" {
					ended <- err
				}
			})
			synctest.Wait()
		}
		lead("a")
		lead("b")
		<-time.After(time.Minute + leaseRetry/2)
		off.Store(true)
		lost := time.Now()
		<-time.After(time.Minute)
		if err := <-ended; !errors.Is(err, ErrLeadershipLost) || holder(t, client) != "b" {
			t.Errorf("Lead returned %v, and the holder is %q", err, holder(t, client))
		}
		cancel()
		all.Wait()
		if len(s.terms) != 2 || s.terms[0].who != "a" || s.terms[1].who != "b" {
			t.Fatalf("terms: %+v, want a, b", s.terms)
		}
		first, second := s.terms[0], s.terms[1]
		if took := first.end.Sub(lost); !errors.Is(first.cause, ErrLeadershipLost) || took > renewDeadline || took < renewDeadline-leaseRetry {
			t.Errorf("the first term ended %s after its last renewals failed, with cause %v", took, first.cause)
		}
		if gap, took := second.begin.Sub(first.end), second.begin.Sub(lost); gap < leaseDuration-renewDeadline || took > 20*time.Second {
			t.Errorf("the second term began %s after the first one, %s after the cut", gap, took)
		}
	})
}

// An answer that takes 9 s to arrive is no reason to lead 9 s longer.
func TestSlowAnswersDoNotMakeATermLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := fake.NewClientset(), &stage{}
		slow := false
		var asked time.Time
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if slow {
				return true, nil, errCut
			}
			slow, asked = true, time.Now()
			<-time.After(9 * time.Second)
			return false, nil, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_ = candidate(client).Lead(ctx, "a", prometheus.NewRegistry(), s.play("a"))
		if len(s.terms) != 1 || s.terms[0].end.Sub(asked) != renewDeadline {
			t.Errorf("terms: %+v; want one that ends %s after %s", s.terms, renewDeadline, asked)
		}
	})
}
