// Command preview serves the dashboard over a made-up fleet in which something changes every few seconds: to look at it, and to work
// on it without a cluster.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/reroll-dev/reroll/tests/ui/showcase"
)

func main() {
	address := flag.String("address", "127.0.0.1:8088", "where to listen")
	every := flag.Duration("every", 5*time.Second, "how often something changes; 0 is never")
	flag.Parse()
	fleet := showcase.New(time.Now())
	fleet.Fill()
	handler, err := fleet.Handler()
	if err == nil {
		go live(fleet, *every)
		fmt.Printf("The dashboard is at http://%s/\n", *address)
		err = (&http.Server{Addr: *address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

const reportEvery = 15 * time.Second

// live lets the fleet continue: statuses are published, and if every is not 0, something changes.
func live(fleet *showcase.Fleet, every time.Duration) {
	var changes <-chan time.Time
	if every > 0 {
		changes = time.Tick(every)
	}
	reports := time.Tick(reportEvery)
	for {
		select {
		case now := <-reports:
			fleet.Report(now)
		case now := <-changes:
			fleet.Change(now)
		}
	}
}
