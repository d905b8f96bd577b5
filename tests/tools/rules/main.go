// Command rules judges rules of Prometheus with Prometheus's own packages. `rules check` reads rule files as a server would; `rules test` runs
// files of the form of `promtool test rules`: series, and what queries find at some times. What it does not know of that form it refuses. It is
// a third of promtool, which brings the clients of every cloud.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if len(os.Args) < 3 || os.Args[1] != "check" && os.Args[1] != "test" {
		fmt.Fprintln(os.Stderr, "usage: rules check|test FILE...")
		os.Exit(2)
	}
	judge := check
	if os.Args[1] == "test" {
		judge = test
	}
	var errs []error
	for _, file := range os.Args[2:] {
		errs = append(errs, judge(file))
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check reads a file of rules, each expression and each template in it.
func check(file string) error {
	_, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	return errors.Join(errs...)
}
