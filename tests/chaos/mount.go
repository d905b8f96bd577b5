package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// disk is where the embedded NATS has its files: a folder, or a file system of its own, which can lose its power.
type disk struct {
	// kind is that of the file system; none if it is empty.
	kind string
	// folder is where it is mounted, and image the file that an ext4 is in.
	folder, image string
}

// ext4 is the only kind of file system.
const ext4 = "ext4"

// diskSize is that of a file system.
const diskSize = 96 << 20

// errNoMount says that this test cannot be run here.
var errNoMount = errors.New("file systems cannot be mounted here")

// store is the folder for Reroll.
func (d disk) store() string { return filepath.Join(d.folder, "store") }

// mount makes the file system, if it is not there yet, and mounts it. It fails with errNoMount where that is not permitted.
func (d disk) mount(ctx context.Context) error {
	if err := os.MkdirAll(d.folder, 0o700); err != nil || d.kind == "" {
		return err
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: only root may", errNoMount)
	}
	if _, err := os.Stat(d.image); errors.Is(err, os.ErrNotExist) {
		if err := d.format(ctx); err != nil {
			return err
		}
	}
	return mounting(ctx, "mount", "-t", "ext4", "-o", "loop", d.image, d.folder)
}

func (d disk) format(ctx context.Context) error {
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(d.image, diskSize); err != nil {
		return err
	}
	return mounting(ctx, "mkfs.ext4", "-q", "-F", d.image)
}

// unmount takes the file system away, as soon as nobody uses it. What was not written yet is written.
func (d disk) unmount(ctx context.Context) error {
	if !d.mounted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, orderlyTime)
	defer cancel()
	err := mounting(ctx, "umount", d.folder)
	for err != nil && ctx.Err() == nil {
		pause(ctx, tryPause)
		err = mounting(ctx, "umount", d.folder)
	}
	return err
}

// mounted reports whether there is a file system of its own at the folder.
func (d disk) mounted() bool {
	return d.kind != "" && exec.Command("mountpoint", "-q", d.folder).Run() == nil
}

func mounting(ctx context.Context, name string, args ...string) error {
	if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s: %w: %s", errNoMount, name, err, output)
	}
	return nil
}

// powerCut puts in the place of the mounted file system what of it had reached the device: what the kernel still had in its
// memory is lost. Nobody may use it meanwhile.
func (d disk) powerCut(ctx context.Context, snapshot string) error {
	if err := d.unmount(ctx); err != nil {
		return err
	}
	if err := os.Rename(snapshot, d.image); err != nil {
		return err
	}
	return d.mount(ctx)
}

// snapshot copies the device as it is.
func (d disk) snapshot(ctx context.Context) (string, error) {
	copied := d.image + ".cut"
	return copied, mounting(ctx, "cp", "--sparse=always", d.image, copied)
}
