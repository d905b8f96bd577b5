package reloader

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// CommandVerb is what a Command has done.
type CommandVerb string

// The verbs of commands.
const (
	// CommandReload rolls a workload now.
	CommandReload CommandVerb = "reload"
	// CommandRetry tries a workload again that could not be patched, or goes on with a config whose rollouts were halted.
	CommandRetry CommandVerb = "retry"
	// CommandPause holds back workloads of a namespace, or of all, for a time; CommandResume ends that.
	CommandPause  CommandVerb = "pause"
	CommandResume CommandVerb = "resume"
	// CommandFreeze holds back every reload of the cluster; CommandThaw ends that.
	CommandFreeze CommandVerb = "freeze"
	CommandThaw   CommandVerb = "thaw"
)

// CommandVerbs are all of them.
var CommandVerbs = []CommandVerb{CommandReload, CommandRetry, CommandPause, CommandResume, CommandFreeze, CommandThaw}

// Limits of what people write into commands, in bytes.
const (
	MaxCommandIDLength     = 64
	MaxCommandReasonLength = 256
	MaxSelectorLength      = 512
)

// Command is what somebody asks the dispatcher of a cluster to do. The same command given twice is carried out once.
type Command struct {
	// ID tells the command from every other. Who repeats a command, because no answer came, repeats the ID.
	ID      string      `json:"id"`
	Cluster string      `json:"cluster"`
	Verb    CommandVerb `json:"verb"`
	// User is the name of who gave it; empty if it is not to be known.
	User string    `json:"user,omitempty"`
	At   time.Time `json:"at"`
	// Workload is what reload and retry are about, and Config what retry is about otherwise.
	Workload WorkloadRef `json:"workload,omitzero"`
	Config   Config      `json:"config,omitzero"`
	// Namespace and Selector say which workloads are paused or resumed: an empty Namespace means all, and an empty Selector any.
	Namespace string `json:"namespace,omitempty"`
	Selector  string `json:"selector,omitempty"`
	// Until is when a pause or a freeze ends by itself; a pause always does.
	Until time.Time `json:"until,omitzero"`
	// Reason says why, in the words of who gave the command.
	Reason string `json:"reason,omitempty"`
}

// CommandResult is what became of a Command.
type CommandResult string

// The results of commands.
const (
	// CommandDone: it was carried out, now or when it was given before.
	CommandDone CommandResult = "Done"
	// CommandRefused: it cannot be carried out as things are; Message says why.
	CommandRefused CommandResult = "Refused"
	// CommandNotFound: what it is about is not there, or not opted in.
	CommandNotFound CommandResult = "NotFound"
	// CommandFailed: it may have been carried out, or not. It can be repeated with the same ID.
	CommandFailed CommandResult = "Failed"
)

// CommandAnswer says what became of a Command.
type CommandAnswer struct {
	ID      string        `json:"id"`
	Cluster string        `json:"cluster"`
	Result  CommandResult `json:"result"`
	// Message explains a result other than Done.
	Message string `json:"message,omitempty"`
	// ReloadID names the reload that came of it, and Outcome is that of the reload.
	ReloadID string `json:"reloadID,omitempty"`
	Outcome  Reason `json:"outcome,omitempty"`
}

// Request is who asked for a reload that no change is behind.
type Request struct {
	// ID is that of the command.
	ID string `json:"id"`
	// User is the name of who asked; empty if it is not to be known.
	User string    `json:"user,omitempty"`
	At   time.Time `json:"at"`
	// Reason says why, in their words.
	Reason string `json:"reason,omitempty"`
}

// Validate reports whether c says all that its verb needs, with names that Kubernetes would accept.
func (c Command) Validate() error {
	switch {
	case !slices.Contains(CommandVerbs, c.Verb):
		return fmt.Errorf("no command is called %.40q", c.Verb)
	case c.ID == "" || len(c.ID) > MaxCommandIDLength:
		return fmt.Errorf("the ID of a command has 1 to %d bytes", MaxCommandIDLength)
	case len(c.User) > MaxUserLength || len(c.Reason) > MaxCommandReasonLength || len(c.Selector) > MaxSelectorLength:
		return errors.New("a text in the command is too long")
	}
	return errors.Join(ValidateCluster(c.Cluster), c.validateTarget())
}

func (c Command) validateTarget() error {
	switch c.Verb {
	case CommandReload:
		return c.Workload.Validate()
	case CommandRetry:
		if c.Workload != (WorkloadRef{}) {
			return c.Workload.Validate()
		}
		if c.Config.Name == "" {
			return fmt.Errorf("%w: a retry needs a workload or a config", ErrInvalidName)
		}
		return c.Config.Validate()
	case CommandPause:
		if c.Until.IsZero() {
			return errors.New("a pause needs an end")
		}
		return c.validateNamespace()
	case CommandResume:
		return c.validateNamespace()
	}
	return nil
}

func (c Command) validateNamespace() error {
	if c.Namespace != "" && !isLabel(c.Namespace) {
		return fmt.Errorf("%w: namespace %.80q is not a DNS-1123 label", ErrInvalidName, c.Namespace)
	}
	return nil
}

// RequestID derives the identity of the reload that a command asks for. It is written on the workload like that of any other, so that a
// process which is given the command again knows that it was carried out.
func RequestID(cluster, uid, command string) string {
	return "r-" + shortID("request", cluster, uid, command)
}
