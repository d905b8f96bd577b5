package dispatcher_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
)

// BenchmarkTrackStatus is what one more ready pod costs. It happens many times in each rollout of each workload.
func BenchmarkTrackStatus(b *testing.B) {
	ring, err := digest.NewRing(key(1))
	if err != nil {
		b.Fatal(err)
	}
	dialects := dialect.Set{dialect.Stakater(dialect.StakaterOptions{})}
	api, kept := client{newCluster(), dialects}, newStore()
	d := dispatcher.New(dispatcher.Options{
		Cluster: clusterName, Ring: ring, Dialects: dialects, Settings: dispatcher.Settings{Strategy: "env-vars"},
		Ports:  dispatcher.Ports{Configs: api, Workloads: api, Ledger: newLedger().open(), Announcer: kept, History: kept},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	defer func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := d.Run(ctx, context.WithoutCancel(ctx)); err != nil {
			b.Error(err)
		}
	}()
	o := object(b, `
kind: Deployment
metadata: {name: web, namespace: main, uid: u, generation: 2, annotations: {reloader.stakater.com/auto: "true"}, labels: {app: web, team: shop}}
spec: {replicas: 9, template: {spec: {containers: [{name: main, envFrom: [{configMapRef: {name: app}}, {secretRef: {name: token}}]}]}}}
status: {observedGeneration: 2, replicas: 9}`).(*appsv1.Deployment)
	versions := make([]*workload.Workload, 2)
	for i := range versions {
		o.Status.UpdatedReplicas = int32(i + 1)
		if versions[i], err = workload.Deployment.Strip(o, dialects.KeepsAnnotation); err != nil {
			b.Fatal(err)
		}
	}
	d.Track(versions[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.Track(versions[i%2])
	}
}
