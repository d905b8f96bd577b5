package install_test

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/guide"
)

const root = "../.."

// suiteTime bounds the quick start.
const suiteTime = 10 * time.Minute

// reader is who follows a guide.
type reader struct {
	*guide.Reader
	// kubeconfig is of the cluster of install.
	kubeconfig string
}

func newReader(t *testing.T) *reader { t.Helper(); return &reader{Reader: guide.NewReader(t, root)} }

func read(t *testing.T, document string) []guide.Section {
	t.Helper()
	sections, err := guide.Read(root + "/docs/" + document)
	if err != nil {
		t.Fatal(err)
	}
	return sections
}
