package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// followed is how often the config is edited that another cluster follows.
const followed = 30

// followHop measures what it takes longer until a config rolls a workload of another cluster than one of its own.
func followHop(ctx context.Context, o options) error {
	heading("a change in one cluster that rolls a workload there and one in another, window 0, audit batches every 20 ms")
	h, err := startHub(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	clusters := make([]*bench, 2)
	for i := range clusters {
		l, err := line.Start(ctx, line.Options{
			Cluster: fmt.Sprintf("c%d", i+1), Kube: kube.Options{ControlPlaneOnly: true, Audit: &kube.Audit{BatchMaxWait: 20 * time.Millisecond}},
			Flags: []string{"--coalesce-window", "0s", "--flap-limit", "0", "--hub-url", h.url},
		})
		if err != nil {
			return err
		}
		defer l.Stop()
		clusters[i] = &bench{options: o, line: l, client: l.Kube.Client()}
	}
	return hop(ctx, clusters[0], clusters[1])
}

// hop edits a config of the owner, and measures until a watch shows the new template in each of the two clusters.
func hop(ctx context.Context, owner, follower *bench) error {
	ns, err := owner.namespace(ctx)
	if err != nil {
		return err
	}
	if err := owner.create(ctx, ns, "app", 1, optedIn); err != nil {
		return err
	}
	_, err = owner.client.CoreV1().ConfigMaps(ns).Patch(ctx, "app", types.MergePatchType, []byte(`{"metadata":{"annotations":{"reroll.dev/followers":"*"}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	if _, err := follower.namespace(ctx); err != nil {
		return err
	}
	if err := follower.create(ctx, ns, "app", 1, map[string]string{"reroll.dev/follow": "c1/" + ns + "/configmap/app"}); err != nil {
		return err
	}
	for _, b := range []*bench{owner, follower} {
		if err := b.waitTracked(ctx, ns, 1); err != nil {
			return err
		}
	}
	var own, there, longer []time.Duration
	for n := range followed {
		took, err := both(ctx, ns, owner, follower, strconv.Itoa(n+1))
		if err != nil {
			return err
		}
		own, there, longer = append(own, took[0]), append(there, took[1]), append(longer, took[1]-took[0])
	}
	row("change → new template, in its own cluster", "%s", percentiles(own))
	row("  in the cluster that follows", "%s", percentiles(there))
	row("  longer there, each change by itself", "%s", percentiles(longer))
	return nil
}

// both edits the config once and returns how long it took until each of the two was rolled.
func both(ctx context.Context, ns string, owner, follower *bench, value string) (took [2]time.Duration, err error) {
	g, ctx := errgroup.WithContext(ctx)
	var rolled [2]<-chan string
	for i, b := range []*bench{owner, follower} {
		watched, stop, err := b.rolls(ctx, ns)
		if err != nil {
			return took, err
		}
		defer stop()
		rolled[i] = watched
	}
	if err := owner.setData(ctx, ns, "app", value); err != nil {
		return took, err
	}
	start := time.Now()
	for i := range rolled {
		g.Go(func() error {
			err := await(ctx, rolled[i], 1)
			took[i] = time.Since(start)
			return err
		})
	}
	return took, g.Wait()
}
