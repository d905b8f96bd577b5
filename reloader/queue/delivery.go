package queue

import (
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/reroll-dev/reroll/reloader"
)

// Delivery is a hint on loan from the stream. It comes again unless Ack is called within the consumer's wait of one minute. The
// methods may be called from any goroutine, also after the handler has returned.
type Delivery struct {
	hint     reloader.Hint
	sequence uint64
	msg      jetstream.Msg
	log      *slog.Logger
}

// Hint returns what is delivered.
func (d Delivery) Hint() reloader.Hint { return d.hint }

// Sequence returns the place of the hint in the stream. It is greater than that of every hint stored earlier.
func (d Delivery) Sequence() uint64 { return d.sequence }

// Ack says that the hint is dealt with. An acknowledgement can get lost; then the hint comes again.
func (d Delivery) Ack() { d.report(d.msg.Ack()) }

// report tells that the server could not be told. Nobody need act: the hint comes again by itself.
func (d Delivery) report(err error) {
	if err != nil {
		d.log.Warn("could not acknowledge a hint; it will come again", "config", d.hint.Config.String(), "sequence", d.sequence, "error", err)
	}
}
