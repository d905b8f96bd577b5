package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// eventWriter writes events to one client. Each write has a time limit of its own: the server's would end every stream, and without
// one a client that reads nothing would be kept for ever.
type eventWriter struct {
	w       io.Writer
	control *http.ResponseController
	buf     bytes.Buffer
}

func newEventWriter(w io.Writer) *eventWriter {
	e := &eventWriter{w: w}
	if writer, ok := w.(http.ResponseWriter); ok {
		e.control = http.NewResponseController(writer)
	}
	return e
}

// event writes one event. data must be one line.
func (e *eventWriter) event(id, name string, data []byte) error {
	e.buf.Reset()
	fmt.Fprintf(&e.buf, "id: %s\nevent: %s\ndata: %s\n\n", id, name, data)
	return e.flush()
}

// comment writes a line that readers skip, so that both sides and all between them see that the stream is alive.
func (e *eventWriter) comment(text string) error {
	e.buf.Reset()
	fmt.Fprintf(&e.buf, ": %s\n\n", text)
	return e.flush()
}

func (e *eventWriter) flush() error {
	if e.control != nil {
		if err := e.control.SetWriteDeadline(time.Now().Add(eventWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	if _, err := e.w.Write(e.buf.Bytes()); err != nil {
		return err
	}
	if e.control == nil {
		return nil
	}
	return e.control.Flush()
}
