package mark_test

import (
	"errors"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/dialect"
	"github.com/reroll-dev/reroll/reloader/mark"
)

// all are the tools, Reroll's own last.
var all = []mark.Tool{
	mark.EnvVars, mark.Annotations, dialect.SAP().Mark, dialect.Wave().Mark, dialect.Collaborne().Mark, dialect.Fabric8().Mark, dialect.Trigger().Mark, mark.Own,
}

func TestReadFindsWhatIsWritten(t *testing.T) {
	for _, name := range mark.General {
		if tool, ok := mark.Named(name); !ok || tool.Name != name {
			t.Errorf("the tool %s is %s, %t", name, tool.Name, ok)
		}
	}
	if tool, ok := mark.Named(""); ok {
		t.Errorf("Named of nothing is %s", tool.Name)
	}
	var together []mark.Mark
	for _, tool := range all {
		name := tool.Name
		for _, c := range []reloader.Config{cm("c"), cm("named.only")} {
			d := deployment()
			if value, found := tool.Read(stripped(t, d), c); found || value != "" {
				t.Errorf("%s: an unmarked workload carries %q for %s", name, value, c)
			}
			marks, err := tool.Marks(stripped(t, d), []mark.Entry{entry(c, sum, 0)})
			if err != nil {
				t.Fatal(err)
			}
			if c == cm("c") {
				together = append(together, marks...)
			}
			w := stripped(t, rolled(t, d, mark.Roll{Hash: "h", Marks: marks}))
			says := name != "reroll" // its value says nothing about one config
			if value, found := tool.Read(w, c); found != says || says && value != sum {
				t.Errorf("%s: the mark of %s is read as %q, %v", name, c, value, found)
			}
			if _, found := tool.Read(w, cm("else")); found && name != "sap" && name != "wave" {
				t.Errorf("%s: another config has the mark of %s", name, c)
			}
		}
		marks, err := tool.Marks(stripped(t, deployment(without)), []mark.Entry{entry(cm("c"), sum, 0)})
		if err == nil {
			_, err = mark.Patch(stripped(t, deployment(without)), mark.Roll{Hash: "h", Marks: marks})
		}
		if !errors.Is(err, mark.ErrNoContainer) {
			t.Errorf("%s, a workload without containers: %v", name, err)
		}
	}
	w := stripped(t, rolled(t, deployment(), mark.Roll{Hash: "h", Marks: together}))
	for _, tool := range all[:len(all)-1] {
		if value, _ := tool.Read(w, cm("c")); value != sum {
			t.Errorf("%s: of the marks of all tools it reads %q", tool.Name, value)
		}
	}
}
