package auditlog

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// link makes the log a symbolic link.
func (r *rig) link(to string) {
	r.t.Helper()
	r.must(os.RemoveAll(r.log + ".new"))
	r.must(os.Symlink(to, r.log+".new"))
	r.must(os.Rename(r.log+".new", r.log))
}

// TestLogThatIsALink rotates behind the link, with the link, and by turning the link, while the Tail reads and while it does not.
func TestLogThatIsALink(t *testing.T) {
	rotations := map[string]struct {
		to     string
		rotate func(r *rig)
	}{
		"behind the link": {"elsewhere/kube.log", func(r *rig) {
			r.must(os.Rename(filepath.Join(r.dir, "elsewhere/kube.log"), filepath.Join(r.dir, "elsewhere/kube.log.1")))
			r.write("b")
		}},
		"behind the link, as the API server does": {"elsewhere/kube.log", func(r *rig) {
			backup := "elsewhere/kube-" + time.Now().UTC().Format(backupTime) + ".log"
			r.must(os.Rename(filepath.Join(r.dir, "elsewhere/kube.log"), filepath.Join(r.dir, backup)))
			r.write("b")
		}},
		"copied and truncated behind the link": {"elsewhere/kube.log", func(r *rig) {
			r.copyTruncate("elsewhere/kube.log.1")
			r.write("b")
		}},
		"the link is renamed": {"elsewhere/kube.log", func(r *rig) {
			r.rename("audit-" + time.Now().UTC().Format(backupTime) + ".log")
			r.write("b")
		}},
		"the link is turned": {"audit.log.20261121", func(r *rig) {
			r.append(filepath.Join(r.dir, "audit.log.20261122"), line("b"))
			r.link("audit.log.20261122")
		}},
	}
	for title, c := range rotations {
		for _, down := range []bool{false, true} {
			when := " while reading"
			if down {
				when = " while down"
			}
			t.Run(title+when, func(t *testing.T) {
				r := newRig(t)
				r.must(os.Mkdir(filepath.Join(r.dir, "elsewhere"), 0o700))
				r.link(c.to)
				r.write("read")
				r.start()
				r.wait("read")
				if down {
					r.stop()
				}
				r.write("a")
				c.rotate(r)
				if down {
					r.start()
				}
				r.wait("a", "b")
				r.write("end")
				r.wait("end")
				r.once("read", "a", "b", "end")
			})
		}
	}
}

// TestLinksThatLeadNowhere are not in the way of the files beside them.
func TestLinksThatLeadNowhere(t *testing.T) {
	r := newRig(t)
	r.must(os.Symlink("audit.log.1", filepath.Join(r.dir, "audit.log.1")))
	r.must(os.Symlink("nowhere", filepath.Join(r.dir, "audit.log.2")))
	r.write("a")
	r.start()
	r.wait("a")
	r.rename("audit.log.3")
	r.write("b")
	r.wait("b")
	r.once("a", "b")
}

// TestLinkInALinkedFolder: ".." leads up from the folder itself, and what cannot be looked at beside the log is no hindrance.
func TestLinkInALinkedFolder(t *testing.T) {
	r := newRig(t)
	at := func(name string) string { return filepath.Join(r.dir, name) }
	r.must(os.MkdirAll(at("data/x/kube"), 0o700))
	r.must(os.MkdirAll(at("data/x/logs"), 0o700))
	r.must(os.Symlink("data/x/kube", at("kube")))
	r.must(os.Symlink("../logs/a.log", at("kube/audit.log")))
	r.append(at("data/x/logs/a.log"), line("a"))
	r.must(os.Symlink(at("data/x/logs/a.log/below"), at("kube/audit.log.1")))
	r.log = at("kube/audit.log")
	r.opts.Path = r.log
	r.start()
	r.wait("a")
	r.must(os.Rename(at("data/x/logs/a.log"), at("data/x/logs/a.log.1")))
	r.append(at("data/x/logs/a.log"), line("b"))
	r.wait("b")
	r.once("a", "b")
}

// TestPipeIsNotWaitedFor: opening one waits for a writer, and nothing could end that.
func TestPipeIsNotWaitedFor(t *testing.T) {
	r := newRig(t)
	r.must(syscall.Mkfifo(r.log, 0o600))
	r.start()
	r.eventually("unhealthy", func() bool {
		err := r.tail.Healthy(t.Context())
		return err != nil && strings.Contains(err.Error(), "no regular file")
	})
	r.must(os.Remove(r.log))
	r.write("a")
	r.wait("a")
}
