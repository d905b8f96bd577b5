//go:build !linux && !darwin

package queue

import (
	"errors"
	"os"
)

// errNoStore ends the start of an embedded server where Reroll is only a command line, such as on Windows.
var errNoStore = errors.New("the embedded NATS runs on Linux and macOS only; set nats.url to use a NATS server")

func lockStore(string) (*os.File, error) { return nil, errNoStore }
