package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/reloader/near"
)

// The codes that a process ends with.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
	// ExitUnknown stands for ExitFailed where ExitFailed is an answer.
	ExitUnknown = 3
)

// ExitCodes says what each code means, by code.
var ExitCodes = []string{
	ExitDone:    "success; `explain --exit-code`: the workload needs no attention; `impact --exit-code`: nothing would roll; `status --exit-code`: all clusters are healthy and no workload needs attention; `doctor`: nothing is wrong; `audit check`: the feed is proven",
	ExitFailed:  "failure; `explain --exit-code`: the workload needs attention; `impact --exit-code`: something would roll; `status --exit-code`: a cluster is unhealthy, or a workload needs attention; `doctor`: something is wrong; `audit check`: the feed is not proven",
	ExitUsage:   "invalid command line",
	ExitUnknown: "with `--exit-code`, and `doctor`: the answer is unknown, or a warning says that it may be incomplete",
}

// coded is an error with the code that the process is to end with.
type coded struct {
	error
	code int
}

// Unwrap returns the error without its code.
func (c coded) Unwrap() error { return c.error }

// errAnswer is the end of a command whose answer, which was printed, is no.
var errAnswer = coded{errors.New("the answer is no"), ExitFailed}

// Usage marks err as a mistake of the command line.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return coded{err, ExitUsage}
}

// ExitCode returns the code that a process ends with after err, and whether err is still to be told.
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

// Say returns err in one line that a terminal can be given.
func Say(err error) string {
	// Whoever reads it may read by lines, and parts of it may be the words of others.
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}

// judged gives errors of a command whose answer may be no the code that tells them from that answer.
func judged(err error) error {
	var c coded
	if err == nil || errors.As(err, &c) {
		return err
	}
	return coded{err, ExitUnknown}
}

// CheckUsage has every command below root tell mistakes of the command line from failures.
func CheckUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Usage(likeFlag(cmd.Flags(), err)) })
	for _, cmd := range root.Commands() {
		CheckUsage(cmd)
	}
	if root.HasSubCommands() && !root.Runnable() {
		root.Args = cobra.ArbitraryArgs
		root.DisableFlagsInUseLine = true
		root.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return Usage(unknownCommand(cmd, args[0]))
		}
		return
	}
	fill := root.PreRunE
	root.PreRunE = func(cmd *cobra.Command, args []string) error {
		if fill != nil {
			if err := fill(cmd, args); err != nil {
				return err
			}
		}
		return Usage(errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()))
	}
	if check := root.Args; check != nil {
		root.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return Usage(fmt.Errorf("%w: it is %s", err, cmd.UseLine()))
			}
			return nil
		}
	}
}

// likeFlag adds to the error about a flag that does not exist which one may be meant.
func likeFlag(flags *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if like, ok := near.Word(unknown.GetSpecifiedName(), names); ok {
		return fmt.Errorf("%w; did you mean --%s?", err, like)
	}
	return err
}

func unknownCommand(cmd *cobra.Command, name string) error {
	text := "unknown command " + quote(name) + " for " + quote(cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if like := cmd.SuggestionsFor(name); len(like) > 0 {
		text += "; did you mean " + quote(like[0]) + "?"
	}
	return errors.New(text)
}
