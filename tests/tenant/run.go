package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/tests/kube"
	"github.com/reroll-dev/reroll/tests/line"
)

// longest bounds a run.
const longest = 20 * time.Minute

// site is a run under way.
type site struct {
	options
	l       *line.Line
	others  *ordinary
	tenant  *hostile
	seen    *witness
	silent  *silent
	step    func(string)
	r       *result
	failure chan error
}

// run starts a line of its own and lets the tenant loose on it.
func run(ctx context.Context, o options, step func(string)) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	l, err := line.Start(ctx, line.Options{Kube: kube.Options{ControlPlaneOnly: true}, Binary: o.Binary})
	if err != nil {
		return result{}, err
	}
	defer l.Stop()
	s := &site{options: o, l: l, step: step, r: &result{options: o}, failure: make(chan error, 1)}
	s.others = &ordinary{options: o, client: l.Kube.Client()}
	s.tenant = &hostile{options: o, client: l.Kube.Client()}
	if s.silent, err = startSilent(); err != nil {
		return *s.r, err
	}
	defer s.silent.stop()
	watching, leave := context.WithCancel(ctx)
	defer leave()
	for _, phase := range []func(context.Context) error{s.control, s.invade, s.suffer, s.restart, s.listen} {
		if err := phase(watching); err != nil {
			return *s.r, err
		}
	}
	s.judge()
	return *s.r, nil
}

// control edits and restarts without the tenant, for comparison.
func (s *site) control(ctx context.Context) (err error) {
	s.step(fmt.Sprintf("creating %d ordinary workloads", s.Ordinary))
	if err := s.others.create(ctx); err != nil {
		return fmt.Errorf("create the ordinary workloads: %w", err)
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	if s.seen, err = watch(ctx, s.others.client); err != nil {
		return err
	}
	if err := s.round(ctx, "without the tenant"); err != nil {
		return err
	}
	s.step("restarting without the tenant")
	s.r.stopAlone, s.r.readyAlone, err = s.again(ctx)
	s.r.memoryAlone = s.memory()
	return err
}

// settled waits until Reroll knows what every ordinary workload runs with.
func (s *site) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	return ask(ctx, func(ctx context.Context) error {
		known := 0
		for i := range s.Namespaces {
			settled, _, err := s.l.Reroll.Settled(ctx, s.others.place(i).namespace)
			if err != nil {
				return err
			}
			known += len(settled)
		}
		if known < s.Ordinary {
			return fmt.Errorf("%d of %d ordinary workloads have their baselines", known, s.Ordinary)
		}
		return nil
	})
}

// invade creates the tenant, and begins to edit its configs.
func (s *site) invade(ctx context.Context) error {
	s.step("creating the tenant")
	if err := s.tenant.createConfigs(ctx); err != nil {
		return fmt.Errorf("create the tenant's configs: %w", err)
	}
	if err := s.tenant.createWorkloads(ctx); err != nil {
		return fmt.Errorf("create the tenant's workloads: %w", err)
	}
	if err := s.silent.register(ctx, s.tenant.client); err != nil {
		return err
	}
	go func() { s.failure <- s.tenant.torment(ctx) }()
	s.step("waiting until the silent webhook is asked")
	waiting, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	err := line.Poll(waiting, func(context.Context) error {
		if s.silent.asked.Load() == 0 {
			return errors.New("the silent webhook is not asked")
		}
		return nil
	})
	if err != nil {
		s.r.fault("%v", err)
	}
	return nil
}

// suffer edits the ordinary configs while the tenant does its worst.
func (s *site) suffer(ctx context.Context) error { return s.round(ctx, "next to the tenant") }

// restart restarts the process next to the tenant, and edits the ordinary configs while it is away, and once more afterwards.
func (s *site) restart(ctx context.Context) (err error) {
	s.step("restarting next to the tenant")
	if s.r.stopBeside, s.r.readyBeside, err = s.again(ctx); err != nil {
		return err
	}
	return s.round(ctx, "after the restart")
}

// round edits the config of every ordinary workload, and waits until all have rolled.
func (s *site) round(ctx context.Context, name string) error {
	s.step("editing the ordinary configs " + name)
	edited, err := s.others.editAll(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	r, err := s.seen.wait(ctx, name, edited, s.others.edits)
	if err != nil {
		s.r.fault("%s: %v", name, err)
	}
	s.r.rounds = append(s.r.rounds, r)
	return nil
}

// again restarts the process, and returns how long it took to end and, from its start, to be ready. One that does not get ready is a fault.
func (s *site) again(ctx context.Context) (stop, ready time.Duration, err error) {
	s.note()
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	begin := time.Now()
	if err := s.l.Reroll.Terminate(ctx); err != nil {
		s.r.fault("it does not end in order: %v", err)
		s.l.Reroll.Kill()
	}
	stop = time.Since(begin)
	begin = time.Now()
	if err := s.l.Reroll.Start(); err != nil {
		return 0, 0, err
	}
	if err := s.l.Reroll.WaitReady(ctx); err != nil {
		s.r.fault("not ready: %v", err)
	}
	return stop, time.Since(begin), nil
}

// listen waits until every workload of the tenant says what is wrong with it.
func (s *site) listen(ctx context.Context) error {
	s.step("asking what is wrong with each of the tenant's workloads")
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	faults, heard := s.silence(ctx, s.l)
	s.r.faults, s.r.heard = append(s.r.faults, faults...), heard
	s.note()
	select {
	case err := <-s.failure:
		return fmt.Errorf("edit the tenant's configs: %w", err)
	default:
		return nil
	}
}

// askEvery is how often the API is asked: it answers a client only a few times a second.
const askEvery = time.Second

// ask asks the API until check returns nil, or ctx ends.
func ask(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}
