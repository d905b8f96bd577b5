package audit

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// What the only kind of body that is understood says of itself.
const (
	listKind       = "EventList"
	listAPIVersion = "audit.k8s.io/v1"
)

// listDecoder reads an EventList. It holds one event at a time and reuses its buffers.
type listDecoder struct {
	scan   *scanner
	event  event
	events *collector

	kind, apiVersion []byte
	itemsSeen        bool
}

func newListDecoder(r io.Reader, opts Options) *listDecoder {
	return &listDecoder{scan: newScanner(r, opts), events: newCollector(opts)}
}

// list reads the whole body.
func (d *listDecoder) list() error {
	switch d.scan.dec.PeekKind() {
	case jsontext.KindBeginObject:
	case jsontext.KindInvalid:
		return d.noJSON()
	default:
		return fmt.Errorf("%w: it is JSON, but no object", ErrMalformed)
	}
	if err := d.members(); err != nil {
		return err
	}
	if string(d.kind) != listKind || string(d.apiVersion) != listAPIVersion {
		return fmt.Errorf("%w: it is not kind %s of apiVersion %s; set --audit-webhook-version to that apiVersion",
			ErrMalformed, listKind, listAPIVersion)
	}
	return d.end()
}

// members reads the list's own object.
func (d *listDecoder) members() error {
	if _, err := d.scan.dec.ReadToken(); err != nil {
		return err
	}
	for {
		name, ok, err := d.scan.member()
		if !ok {
			return err
		}
		if err := d.member(name); err != nil {
			return err
		}
	}
}

// end checks that nothing but white space follows.
func (d *listDecoder) end() error {
	d.scan.begin()
	_, err := d.scan.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case d.scan.src.err != nil, errors.Is(err, errStretch):
		return err
	}
	return fmt.Errorf("%w: something follows the EventList at byte %d", ErrMalformed, d.scan.offset())
}

// noJSON returns why nothing begins where the list should.
func (d *listDecoder) noJSON() error {
	_, err := d.scan.dec.ReadToken()
	if errors.Is(err, io.EOF) && d.scan.src.err == nil {
		return fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	return err
}

// member reads one member of the list.
func (d *listDecoder) member(name []byte) (err error) {
	switch string(name) {
	case "kind":
		d.kind, err = d.headText(d.kind)
	case "apiVersion":
		d.apiVersion, err = d.headText(d.apiVersion)
	case "items":
		err = d.items()
	default:
		err = d.scan.dec.SkipValue()
	}
	return err
}

func (d *listDecoder) headText(dst []byte) ([]byte, error) {
	if d.scan.dec.PeekKind() != jsontext.KindString {
		return dst[:0], d.scan.dec.SkipValue()
	}
	return d.scan.appendText(dst[:0])
}

// items reads the events.
func (d *listDecoder) items() error {
	if d.itemsSeen {
		return fmt.Errorf("%w: it has items twice", ErrMalformed)
	}
	d.itemsSeen = true
	switch d.scan.dec.PeekKind() {
	case jsontext.KindBeginArray:
	case jsontext.KindNull:
		return d.scan.dec.SkipValue()
	case jsontext.KindInvalid:
		_, err := d.scan.dec.ReadToken()
		return err
	default:
		return fmt.Errorf("%w: its items are no array", ErrMalformed)
	}
	if _, err := d.scan.dec.ReadToken(); err != nil {
		return err
	}
	for d.scan.dec.PeekKind() != jsontext.KindEndArray {
		if err := d.item(); err != nil {
			return err
		}
	}
	_, err := d.scan.dec.ReadToken()
	d.scan.begin()
	return err
}

// item reads one event and adds its hint.
func (d *listDecoder) item() error {
	if err := d.events.room(); err != nil {
		return err
	}
	d.scan.begin()
	if err := d.event.read(d.scan); err != nil {
		return err
	}
	return d.events.take(&d.event)
}
