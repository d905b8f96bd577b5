package line

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"

	"github.com/reroll-dev/reroll/tests/port"
)

// StartRoles starts a line with each part in its own process; they share an external NATS. It returns when all are
// ready. Flags and environment are those of the dispatch role.
func StartRoles(ctx context.Context, o Options, natsURL string) (*Line, error) {
	dir, err := os.MkdirTemp("", "reroll-line-")
	if err != nil {
		return nil, err
	}
	l := &Line{dir: dir}
	if err := l.startRoles(ctx, o, natsURL); err != nil {
		l.Stop()
		return nil, err
	}
	return l, nil
}

func (l *Line) startRoles(ctx context.Context, o Options, natsURL string) error {
	o.Cluster = cmp.Or(o.Cluster, ClusterName)
	addresses, err := port.Addresses(5)
	if err != nil {
		return err
	}
	files, err := l.startSource(ctx, o, &addresses[0])
	if err != nil {
		return err
	}
	binary, err := Build(ctx)
	if err != nil {
		return err
	}
	role := func(name, metrics string, flags ...string) *Reroll {
		return &Reroll{
			dir: l.dir, binary: binary, Ops: "http://" + metrics,
			arguments: slices.Concat([]string{"serve", "--components", name, "--set", "nats.url=" + natsURL, "--metrics-address", metrics}, flags),
		}
	}
	// The first holds no Kubernetes credentials, and neither does the last.
	l.Ingest = role("ingest", addresses[2], append(files.flags(), "--ingest-address", addresses[0])...)
	l.Dispatch = role("dispatch", addresses[3], append([]string{
		"--cluster-name", o.Cluster, "--source", "audit", "--kubeconfig", l.Kube.Kubeconfig(), "--set", "namespace=default",
	}, o.Flags...)...)
	l.Dispatch.environment = o.Environment
	l.Reroll = role("api", addresses[4], "--api-address", addresses[1])
	l.Reroll.API = "http://" + addresses[1]
	for _, r := range []*Reroll{l.Ingest, l.Dispatch, l.Reroll} {
		if err := r.Start(); err != nil {
			return err
		}
	}
	return errors.Join(l.Ingest.WaitReady(ctx), l.Dispatch.WaitReady(ctx), l.Reroll.WaitReady(ctx))
}

// AddDispatch starts another process of the dispatch role, with the same flags and an environment of its own. It is not waited for.
func (l *Line) AddDispatch(environment ...string) (*Reroll, error) {
	addresses, err := port.Addresses(1)
	if err != nil {
		return nil, err
	}
	r := &Reroll{dir: l.dir, binary: l.Dispatch.binary, Ops: "http://" + addresses[0], environment: environment}
	r.arguments = append(append(r.arguments, l.Dispatch.arguments...), "--metrics-address", addresses[0])
	l.replicas = append(l.replicas, r)
	return r, r.Start()
}

// Probe returns the answer to a path of the address for metrics and health, whatever its code.
func (r *Reroll) Probe(ctx context.Context, path string) (code int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Ops+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, string(body), err
}

// NewProcess returns a process that is part of no line, with arguments and an environment, and free addresses for the API and for metrics and health.
// It is not started.
func NewProcess(ctx context.Context, environment []string, arguments ...string) (*Reroll, error) {
	addresses, err := port.Addresses(2)
	if err != nil {
		return nil, err
	}
	binary, err := Build(ctx)
	return &Reroll{
		API: "http://" + addresses[0], Ops: "http://" + addresses[1], binary: binary, environment: environment,
		arguments: append(arguments, "--api-address="+addresses[0], "--metrics-address="+addresses[1]),
	}, err
}

// StartAPI starts a process of the API alone, and returns when it is ready. The flags say where its NATS is. The caller ends it.
func StartAPI(ctx context.Context, flags ...string) (*Reroll, error) {
	r, err := NewProcess(ctx, nil, append([]string{"serve", "--components=api"}, flags...)...)
	if err != nil {
		return nil, err
	}
	if err := r.Start(); err != nil {
		return nil, err
	}
	if err := r.WaitReady(ctx); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}
