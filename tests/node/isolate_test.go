//go:build linux

package node

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Addresses of the node and its pods; those of Services are the rig's. They are nobody else's: the network is the node's own.
const (
	nodeAddress = "10.88.0.1"
	podRange    = "10.88.0.0/16"
	bridge      = "cni0"
)

// controlGroups is where the control groups of this machine are.
const controlGroups = "/sys/fs/cgroup"

// hierarchies returns the folders below which every control group has its own: one, or one for each controller.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(controlGroups, "cgroup.controllers")); err == nil {
		return []string{controlGroups}, nil
	}
	procs, err := filepath.Glob(filepath.Join(controlGroups, "*", "cgroup.procs"))
	if err == nil && len(procs) == 0 {
		err = fmt.Errorf("there are no control groups in %s", controlGroups)
	}
	for i, file := range procs {
		procs[i] = filepath.Dir(file)
	}
	return procs, err
}

// makeGroups makes the control groups of a name and returns their folders, also when it fails in between.
func makeGroups(name string) (groups []string, err error) {
	tops, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, top := range tops {
		group := filepath.Join(top, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			return groups, fmt.Errorf("make a control group: %w", err)
		}
		groups = append(groups, group)
		// A processor set has no processors until it is given some.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if content, err := os.ReadFile(filepath.Join(top, file)); err == nil {
				_ = os.WriteFile(filepath.Join(group, file), content, 0o644) // whether it is enough shows when a container starts
			}
		}
	}
	return groups, nil
}

// removeGroups removes control groups with all below them. No process is in them any more.
func removeGroups(groups []string) {
	for _, group := range groups {
		var found []string
		_ = filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil
		})
		slices.Reverse(found)
		for _, dir := range found {
			if err := os.Remove(dir); err != nil {
				fmt.Fprintln(os.Stderr, "a control group is left:", err)
			}
		}
	}
}

// tunables are settings of the kernel that a kubelet would change for the whole machine if they were others.
var tunables = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// isolate gives the namespaces of this process folders and a network of their own. The usual folders of a node are below dir.
func isolate(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part with the mounts of the machine: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("run", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	for _, usual := range []string{"/var/lib", "/var/log"} {
		own := filepath.Join(dir, usual)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return err
		}
		if err := bind(own, usual); err != nil {
			return err
		}
	}
	if err := pretend(filepath.Join(dir, "sys")); err != nil {
		return err
	}
	// As an init system leaves it: kubelets want their mounts to be seen by others.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts: %w", err)
	}
	return connect()
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", from, to, err)
	}
	return nil
}

// pretend lays files in front of the tunables, so that the kubelet finds what it wants and leaves the machine as it is.
func pretend(dir string) error {
	for name, value := range tunables {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(file, filepath.Join("/proc/sys", name)); err != nil {
			return err
		}
	}
	return nil
}

// connect makes the network: a bridge, which has the node's address, and leads to pods and Services.
func connect() error {
	for _, command := range []string{
		"link set lo up",
		"link add name " + bridge + " type bridge",
		"address add " + nodeAddress + strings.TrimLeft(podRange, "0123456789.") + " dev " + bridge,
		"link set " + bridge + " up",
		// Addresses of Services are on no link: without a route to them nothing gets as far as kube-proxy's rules.
		"route add default dev " + bridge,
	} {
		if _, err := output(exec.Command("ip", strings.Fields(command)...)); err != nil {
			return err
		}
	}
	for file, needed := range map[string]bool{"ipv4/ip_forward": true, "bridge/bridge-nf-call-iptables": false} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", file), []byte("1"), 0o644); err != nil && needed {
			return fmt.Errorf("let pods reach each other: %w", err)
		}
	}
	return nil
}
