package line

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// suiteTime bounds the start of a line and all tests on it.
const suiteTime = time.Hour

// Main runs the tests of a package on one line, which it puts into shared, and ends the process. prepare, if not nil, comes before the tests.
func Main(m *testing.M, shared **Line, o Options, prepare func(ctx context.Context, l *Line) error) {
	code, err := onLine(m, shared, o, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func onLine(m *testing.M, shared **Line, o Options, prepare func(ctx context.Context, l *Line) error) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), suiteTime)
	defer cancel()
	l, err := Start(ctx, o)
	if err != nil {
		return 1, err
	}
	defer l.Stop()
	if *shared = l; prepare != nil {
		if err := prepare(ctx, l); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}
