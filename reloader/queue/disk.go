//go:build linux || darwin

package queue

import (
	"errors"
	"path/filepath"
	"syscall"
)

// diskSpace returns the size in bytes of the file system that holds dir, or will hold it, and what is free on it.
func diskSpace(dir string) (total, free int64, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return 0, 0, err
	}
	var fs syscall.Statfs_t
	for {
		err = syscall.Statfs(dir, &fs)
		if parent := filepath.Dir(dir); errors.Is(err, syscall.ENOENT) && parent != dir {
			dir = parent
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		return int64(fs.Blocks) * int64(fs.Bsize), int64(fs.Bavail) * int64(fs.Bsize), nil
	}
}
