package queue

import (
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// Delivery is a hint that is delivered again unless Ack is called within one minute. The methods may be called from any goroutine, also after the
// handler has returned.
type Delivery struct {
	hint reloader.Hint
	msg  jetstream.Msg
	log  *slog.Logger
}

// Hint returns what is delivered.
func (d Delivery) Hint() reloader.Hint { return d.hint }

// Ack removes the hint from the stream. An acknowledgement can get lost; then the hint comes again.
func (d Delivery) Ack() {
	if err := d.msg.Ack(); err != nil {
		d.log.Warn("could not acknowledge a hint; it will come again", "config", d.hint.Config.String(), "error", err)
	}
}
