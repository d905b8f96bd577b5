package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// silenceTime is how long a server that says something every ten seconds may say nothing.
	silenceTime = 35 * time.Second
	// maxEvent bounds one line of a stream.
	maxEvent = 8 << 20
)

var errSilent = fmt.Errorf("the server has said nothing for %s", silenceTime)

// event is one server-sent event.
type event struct{ id, name, data string }

// readEvents calls take for each event of a stream until it ends, which is an error, or take returns one. beat is called for
// every line, whatever it says.
func readEvents(r io.Reader, beat func(), take func(event) error) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxEvent)
	var e event
	var data []string
	for scanner.Scan() {
		beat()
		field, value, _ := strings.Cut(scanner.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case scanner.Text() == "":
			if data != nil {
				e.data = strings.Join(data, "\n")
				if err := take(e); err != nil {
					return err
				}
			}
			e, data = event{}, nil
		case field == "id":
			e.id = value
		case field == "event":
			e.name = value
		case field == "data":
			data = append(data, value)
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	return errors.New("the server has closed it")
}
