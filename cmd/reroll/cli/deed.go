package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// Deed is how a command that writes says what it has done: in a sentence, or in another format.
type Deed struct{ output }

// Bind declares its flag. There are no columns that could be wide.
func (d *Deed) Bind(cmd *cobra.Command) {
	d.bindPlain(cmd, formatJSON, formatYAML, formatName, formatPath)
}

// Check refuses a format that there is not. It is to be called before anything is written.
func (d *Deed) Check() error { return d.check() }

// Done is what was done.
type Done struct {
	// What is the command, and Said what it has done, for people.
	What, Said string
	// Names are what other commands call that which it was done to.
	Names []string
	// Details are further fields; those that are empty are left out.
	Details map[string]string
}

// Say tells what was done.
func (d *Deed) Say(w io.Writer, done Done) error {
	fields := map[string]any{"done": done.What, "message": done.Said, "names": append([]string{}, done.Names...)}
	for key, value := range done.Details {
		if value != "" {
			fields[key] = value
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return d.print(w, answer{body: body, names: done.Names, show: func(w io.Writer, _, _, colours bool) error {
		l := newLines(w, colours)
		l.add(text(done.Said))
		return l.err
	}})
}
