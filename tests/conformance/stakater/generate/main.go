// Command generate writes the table of compatibility into a file.
package main

import (
	"fmt"
	"os"

	"github.com/reroll-dev/reroll/tests/conformance/stakater"
)

func main() {
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(file string) error {
	table, err := stakater.Table()
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(table), 0o644)
}
