package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The codes that a process ends with.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// ExitCodes says what each code means, by code.
var ExitCodes = []string{
	ExitDone:   "success, and nothing is wrong",
	ExitFailed: "failure; or `check`, `migrate` or `audit check` found something wrong; or, with `--exit-code`, something needs attention (`status`, `explain`) or would roll (`impact`)",
	ExitUsage:  "invalid command line",
}

// coded is an error with the code that the process ends with.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// errAnswer ends a command whose answer, which it has printed, is no.
var errAnswer = coded{errors.New("the answer is no"), ExitFailed}

// Usage marks err as a mistake of the command line.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return coded{err, ExitUsage}
}

func usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// ExitCode returns the code that a process ends with after err, and whether to print err.
func ExitCode(err error) (code int, tell bool) {
	var c coded
	switch {
	case err == nil:
		return ExitDone, false
	case errors.As(err, &c):
		return c.code, c != errAnswer
	}
	return ExitFailed, true
}

// Say returns err in one line for a terminal.
func Say(err error) string {
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}

// CheckUsage gives all mistakes of the command line below root the code ExitUsage.
func CheckUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	for _, cmd := range root.Commands() {
		CheckUsage(cmd)
	}
	if root.HasSubCommands() && !root.Runnable() {
		root.Args, root.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		root.DisableFlagsInUseLine = true
	}
	root.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return Usage(cmp.Or(foreignFlag(cmd), cmd.ValidateFlagGroups(), checkFormat(cmd)))
	}
	if check := root.Args; check != nil {
		root.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w: use %s", err, cmd.UseLine())
			}
			return nil
		}
	}
}
