package kube

import (
	"context"
	"fmt"
	"os"
)

// BackUpEtcd returns a directory with all that etcd holds, for RestoreEtcd. The API server is away meanwhile.
func (c *Cluster) BackUpEtcd(ctx context.Context) (string, error) {
	backup, err := os.MkdirTemp(c.dir, "backup-")
	if err != nil {
		return "", fmt.Errorf("back up etcd: %w", err)
	}
	return backup, c.withoutEtcd(ctx, func() error { return os.CopyFS(backup, os.DirFS(c.file("etcd"))) })
}

// RestoreEtcd puts etcd back to what it held when BackUpEtcd returned backup, as an administrator does after a disaster: resource versions,
// generations and contents are those of then. The API server is away meanwhile, and has sent its audit events before.
func (c *Cluster) RestoreEtcd(ctx context.Context, backup string) error {
	return c.withoutEtcd(ctx, func() error {
		if err := os.RemoveAll(c.file("etcd")); err != nil {
			return err
		}
		return os.CopyFS(c.file("etcd"), os.DirFS(backup))
	})
}

// withoutEtcd ends API server and etcd in good order, does something to its files, and starts both.
func (c *Cluster) withoutEtcd(ctx context.Context, do func() error) error {
	if err := c.StopAPIServer(ctx); err != nil {
		return err
	}
	if err := c.process(Etcd).terminate(ctx); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("copy the files of etcd: %w", err)
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}
