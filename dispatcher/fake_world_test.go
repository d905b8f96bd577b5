package dispatcher_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/dispatcher"
	"github.com/reroll-dev/reroll/dispatcher/turn"
	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/control"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/digest"
	"github.com/reroll-dev/reroll/reloader/workload"
	"github.com/reroll-dev/reroll/tests/scenario"
)

const clusterName = "local"

// alice makes the writes of scenarios.
var alice = reloader.Actor{User: "alice", UserAgent: "kubectl/v1.37", FieldManager: "kubectl-edit"}

// world is a cluster, what survives of dispatchers, and the dispatchers that run. It lives inside a synctest bubble.
type world struct {
	*cluster
	t        testing.TB
	store    *store
	ledger   *ledger
	stream   *stream
	settings scenario.Settings

	mu       sync.Mutex
	running  []*process
	late     []func()
	informer bool
	// overhears has the dispatchers hear of hints before the stream does.
	overhears bool
	// configure changes the options of dispatchers that are started.
	configure func(*dispatcher.Options)
	// control is what dispatchers that are started find.
	control control.Control
}

// process is one dispatcher that runs.
type process struct {
	*dispatcher.Dispatcher
	client client
	// known is each workload as the informer last had it.
	known map[reloader.WorkloadRef]*workload.Workload
	// cancel asks it to end.
	cancel context.CancelFunc
	done   chan error
}

var _ scenario.World = (*world)(nil)

func key(n byte) digest.Key {
	k := make(digest.Key, digest.KeySize)
	k[0] = n
	return k
}

// inWorld runs a test in a bubble and ends every dispatcher after it.
func inWorld(t *testing.T, s scenario.Settings, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			cluster: newCluster(), t: t, settings: s, informer: true,
			store:  &store{changes: map[reloader.Config][]byte{}, records: map[reloader.WorkloadRef][]byte{}},
			ledger: &ledger{entries: map[reloader.WorkloadRef]string{}, version: map[string]int{}},
			stream: &stream{last: map[reloader.Config]reloader.Hint{}},
		}
		w.cluster.audit, w.cluster.watch = w.hear, w.observe
		defer w.stop()
		test(t, w)
	})
}

// runWorld is a part of a test in a world of its own.
func runWorld(t *testing.T, name string, s scenario.Settings, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inWorld(t, s, test) })
}

// worlds are parts of a test, each in a world of its own.
type worlds map[string]func(t *testing.T, w *world)

func each(t *testing.T, s scenario.Settings, tests worlds) {
	t.Helper()
	for name, test := range tests {
		runWorld(t, name, s, test)
	}
}

// observe hands a workload to every dispatcher, or keeps it if the informer is late.
func (w *world) observe(ref scenario.Ref, obj scenario.Typed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tell := func() {
		for _, p := range w.running {
			p.observe(ref, obj)
		}
	}
	if !w.informer {
		w.late = append(w.late, tell)
		return
	}
	tell()
}

// observe does what the roster of the Kubernetes adapter does.
func (p *process) observe(ref scenario.Ref, obj scenario.Typed) {
	kind, namespace, name, _ := ref.Split()
	named := reloader.WorkloadRef{Kind: kind, Namespace: namespace, Name: name}
	if obj == nil {
		delete(p.known, named)
		p.Forget(named)
		return
	}
	w := p.client.strip(obj)
	if old := p.known[named]; old != nil && old.UID != w.UID {
		p.Forget(named)
	}
	p.known[named] = w
	p.Track(w)
}

// hear takes a hint from the audit feed.
func (w *world) hear(h reloader.Hint) {
	w.mu.Lock()
	var running []*process
	if w.overhears {
		running = slices.Clone(w.running)
	}
	w.mu.Unlock()
	for _, p := range running {
		p.Overhear([]reloader.Hint{h})
	}
	w.stream.put(h)
}

// stall keeps workloads from the dispatchers until catchUp.
func (w *world) stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.informer = false
}

func (w *world) catchUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tell := range w.late {
		tell()
	}
	w.late, w.informer = nil, true
}

// start runs one more dispatcher and waits until it is ready.
func (w *world) start() *process {
	w.t.Helper()
	p := w.launch()
	for range 1000 {
		synctest.Wait()
		if p.Ready() == nil {
			w.stream.connect(p.Handle)
			return p
		}
		w.pass(10 * time.Millisecond)
	}
	w.t.Fatal("the dispatcher does not get ready")
	return nil
}

// launch runs one more dispatcher.
func (w *world) launch() *process {
	w.t.Helper()
	ring, err := digest.NewRing(key(1))
	if err != nil {
		w.t.Fatal(err)
	}
	dialects := dialect.All(dialect.StakaterOptions{AutoReloadAll: w.settings.AutoReloadAll}).In(clusterName, nil)
	p := &process{client: client{w.cluster, dialects}, known: map[reloader.WorkloadRef]*workload.Workload{}, done: make(chan error, 1)}
	options := dispatcher.Options{
		Cluster: clusterName, Ring: ring, Dialects: dialects, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Ports: dispatcher.Ports{Configs: p.client, Workloads: p.client, Ledger: w.ledger.open(), History: w.store, Announcer: w.store},
		Settings: dispatcher.Settings{
			Strategy: cmp.Or(w.settings.Strategy, "env-vars"), DryRun: w.settings.DryRun,
			Debounce: turn.Debounce{Window: time.Duration(w.settings.Window), MaxWait: time.Duration(w.settings.MaxWait)},
		},
	}
	if os.Getenv("CORE_LOG") != "" {
		options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if w.configure != nil {
		w.configure(&options)
	}
	if options.DryRun {
		options.Ledger = dryLedger{w.ledger.open()}
	}
	p.Dispatcher = dispatcher.New(options)
	p.SetControl(w.control)

	if err := p.Load(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.cluster.mu.Lock()
	for ref := range w.objects {
		if ref.Workload() {
			p.observe(ref, w.objects[ref])
		}
	}
	w.mu.Lock()
	w.running = append(w.running, p)
	w.mu.Unlock()
	w.cluster.mu.Unlock()
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	go func() { p.done <- p.Run(ctx, context.Background()) }()
	return p
}

// stop ends every dispatcher that runs.
func (w *world) stop() {
	w.t.Helper()
	w.stream.mu.Lock()
	w.stream.consumers = nil
	w.stream.mu.Unlock()
	w.mu.Lock()
	running := w.running
	w.running = nil
	w.mu.Unlock()
	for _, p := range running {
		p.cancel()
		if err := <-p.done; err != nil {
			w.t.Errorf("the dispatcher ended with %v", err)
		}
	}
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// quiet is longer than any retry that can be due after the last fault has ended, but for those of minutes.
const quiet = 3 * time.Minute

// Create makes an object as alice. Its annotations may name namespaces, which are called here as in the scenario.
func (w *world) Create(_ context.Context, obj scenario.Typed) error {
	annotations := obj.GetAnnotations()
	for key, value := range annotations {
		annotations[key] = scenario.NamespaceWord.ReplaceAllString(value, "$1")
	}
	obj.SetAnnotations(annotations)
	return w.create(alice, obj)
}

// Update replaces an object as alice.
func (w *world) Update(_ context.Context, obj scenario.Typed) (int64, error) {
	return w.change(refOf(obj), reloader.VerbUpdate, alice, func([]byte, scenario.Typed) ([]byte, error) { return json.Marshal(obj) })
}

// Patch patches an object as alice.
func (w *world) Patch(_ context.Context, ref scenario.Ref, as types.PatchType, body []byte) (int64, error) {
	return w.patchBy(alice, ref, as, body)
}

// Delete deletes an object as alice.
func (w *world) Delete(_ context.Context, ref scenario.Ref) error { return w.delete(alice, ref) }

// Generation returns a workload's generation.
func (w *world) Generation(_ context.Context, ref scenario.Ref) (int64, error) {
	obj, ok := w.read(ref)
	if !ok {
		return 0, nil
	}
	return obj.GetGeneration(), nil
}

// Template returns a workload's pod template.
func (w *world) Template(_ context.Context, ref scenario.Ref) (*corev1.PodTemplateSpec, error) {
	obj, ok := w.read(ref)
	if !ok {
		return nil, fmt.Errorf("%s does not exist", ref)
	}
	return scenario.Template(obj), nil
}

// Quiesce lets every timer run out.
func (w *world) Quiesce(context.Context) error {
	w.pass(quiet)
	if n := w.stream.unacknowledged(); n > 0 {
		return fmt.Errorf("%d hints are not acknowledged", n)
	}
	return nil
}
