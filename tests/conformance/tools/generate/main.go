// Command generate writes the table of compatibility with the tools into a file.
package main

import (
	"fmt"
	"os"

	"github.com/reroll-dev/reroll/tests/conformance/tools"
)

func main() {
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(folder, file string) error {
	table, err := tools.Table(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(table), 0o644)
}
