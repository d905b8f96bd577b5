package queue

import (
	"net"
	"os"
	"testing"
)

// TestRecordsAreLost: NATS comes back without the records of workloads, or with an earlier state of them. Either is said once, and what is stored then
// takes their place; a restart that loses nothing is not reported.
func TestRecordsAreLost(t *testing.T) {
	dir := t.TempDir()
	s := external(t, dir, -1, nil)
	port := s.Addr().(*net.TCPAddr).Port
	q := open(t, Options{URL: s.ClientURL()})
	ctx := testContext(t)
	lost := make(chan struct{}, 10)
	go q.KeepRecords(ctx, func() { lost <- struct{}{} })
	put := func(name string) {
		t.Helper()
		eventually(t, "stored", func() bool { return q.PutWorkload(ctx, record(name)) == nil })
	}
	// comesBack exchanges the server for one with the store of dir, and waits until the queue has looked at that.
	comesBack := func(dir string) {
		t.Helper()
		stopServer(s)
		s = external(t, dir, port, nil)
		eventually(t, "healthy again", func() bool { return q.Healthy(ctx) == nil })
		eventually(t, "inspected", func() bool { return q.lookAtRecords(ctx) == nil })
	}
	awaitLost := func(what string) {
		t.Helper()
		eventually(t, what, func() bool { return len(lost) > 0 })
		<-lost
	}
	put("a")
	stopServer(s)
	earlier := t.TempDir()
	if err := os.CopyFS(earlier, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	comesBack(dir)
	put("b")
	if len(lost) > 0 {
		t.Error("a restart that lost nothing is reported")
	}
	comesBack(earlier)
	awaitLost("set back")
	put("b")
	comesBack(t.TempDir())
	awaitLost("empty")
	put("a")
	put("b")
	if got, err := q.LoadWorkloads(ctx, "blue"); err != nil || len(got) != 2 {
		t.Errorf("%d records, %v", len(got), err)
	}
	if len(lost) > 0 {
		t.Error("reported more than once")
	}
}
