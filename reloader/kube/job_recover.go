package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// recreations knows which Jobs this process is recreating, so that nothing is done twice at once.
type recreations struct {
	mu   sync.Mutex
	busy map[types.UID]bool
	left atomic.Bool
}

// begin reserves a Job for the caller, who must call end; false if somebody has it.
func (r *recreations) begin(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy[uid] {
		return false
	}
	if r.busy == nil {
		r.busy = map[types.UID]bool{}
	}
	r.busy[uid] = true
	return true
}

func (r *recreations) end(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, uid)
}

// leave takes note that something is left for RecoverJobs.
func (r *recreations) leave() { r.left.Store(true) }

// RecoverJobs ends every recreation of a Job that was left half done, also by another process: it creates the Job again if the old
// one is gone or going. If the old one stands as it was, the process ended before it deleted it, or its request to do so is still under
// way: the manifest is kept until the Job has another version, which that request does not mean, or until no API server works on it any
// more. Then nothing was done, and whether to roll it is to be decided again. It tries each Job once and returns the errors of all.
//
// The process that rolls workloads calls RecoverJobs before it watches them, and may at any time; no other process does.
//
// A Job that somebody deletes on purpose after its manifest was kept and before it was dropped cannot be told from one that Reroll
// deleted: it is created again.
func (c *Cluster) RecoverJobs(ctx context.Context) error {
	kept, err := c.client.CoreV1().Secrets(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: ManifestLabel})
	if err != nil {
		c.jobs.leave()
		return fmt.Errorf("list the manifests of Jobs in namespace %s: %w", c.Namespace, err)
	}
	var errs []error
	for i := range kept.Items {
		if err := c.recoverJob(ctx, &kept.Items[i]); err != nil {
			if !errors.Is(err, errForged) { // which stays so, however often it is tried
				c.jobs.leave()
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) recoverJob(ctx context.Context, secret *corev1.Secret) error {
	m, err := c.manifestIn(ctx, secret)
	if err != nil {
		return err
	}
	if !c.jobs.begin(m.uid) {
		return nil // Roll is at it
	}
	defer c.jobs.end(m.uid)
	live, err := c.jobsIn(m.job.GetNamespace()).Get(ctx, m.job.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read %s: %w", m, err)
	case live.GetUID() != m.uid:
		return c.dropManifest(ctx, m)
	case live.GetDeletionTimestamp() == nil && !m.undone(live, time.Now()):
		c.jobs.leave() // whoever asked for it may have died before the API server was done
		return nil
	case live.GetDeletionTimestamp() == nil:
		return c.dropManifest(ctx, m)
	}
	_, err = c.restore(ctx, m, 0)
	if errors.Is(err, errNamespaceGone) {
		return nil
	}
	return err
}

// keepTime is how often KeepJobs tries again what was left half done.
const keepTime = 10 * time.Second

// KeepJobs calls RecoverJobs again and again as long as a recreation is left half done, for instance because a quota or an admission
// policy refuses the new Job, until ctx ends. As long as none is, it asks the API server nothing.
func (c *Cluster) KeepJobs(ctx context.Context, logger *slog.Logger) {
	ticks := time.NewTicker(keepTime)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if !c.jobs.left.Swap(false) {
			continue
		}
		if err := c.RecoverJobs(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("job is not recreated yet", "error", err)
		}
	}
}
