package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep arrays, texts and envelopes may nest. The deepest that is known takes all of it: a shipper's array of records, whose message
// is the text of a delivery service's request, with records of compressed batches of log events, whose messages are the texts of events.
const maxDepth = 10

// DecodeShipped reads audit events as log shippers and delivery services send them: one event, an array of them, one or several behind each other
// or on each line, an EventList; each bare or in an envelope, as JSON or as a text that is JSON:
//
//   - log or message of a record, as Fluent Bit, Vector and others that read lines send it;
//   - records[].data of Amazon Data Firehose in base64, and in it the compressed logEvents[].message of Amazon CloudWatch Logs;
//   - records[].properties.log of Azure diagnostic settings;
//   - an entry of Google Cloud Logging, also as message.data of a Pub/Sub push.
//
// What cannot be read, and what is not an event, is skipped and counted, unless a whole body is nothing else. On an error there is no result.
func DecodeShipped(body []byte, opts Options) (Result, error) {
	d := shipped{batch: newBatch(opts)}
	err := d.stream(body, 0)
	switch {
	case err != nil:
		return Result{}, err
	case len(trimLeft(body)) == 0:
		return Result{}, malformed("it is empty")
	case !d.understood:
		return Result{}, malformed("it is not valid JSON, is neither object nor array, or is incomplete")
	case d.Received > 0 && d.Received == d.Skipped[SkipNoEvent]:
		return Result{}, errNoEvents
	}
	return d.Result, nil
}

// errNoEvents means that all of a body is something else than audit events, or that they are where Reroll does not look.
var errNoEvents = malformed("it is JSON, but holds no audit event in an envelope that Reroll knows; send the events bare, or in one of those of " +
	"docs/audit-events.md")

// shipped reads one body.
type shipped struct {
	*batch
	// understood means that at least one object or array was read.
	understood bool
	// inflated is how much was decompressed so far.
	inflated int
}

// stream reads values that follow each other. What is not one costs the rest of its line, and the rest of b where that is not made of lines.
func (d *shipped) stream(b []byte, depth int) error {
	for part := range parts(b) {
		for part = trimLeft(part); len(part) > 0; part = trimLeft(part) {
			var value []byte
			value, part = splitValue(part)
			ok, err := d.value(value, depth)
			if err != nil {
				return err
			}
			d.understood = d.understood || ok && (value[0] == '{' || value[0] == '[')
			if !ok {
				break
			}
		}
	}
	return nil
}

// value reads one value, and reports whether it is one. It fails only beyond a limit of the body.
func (d *shipped) value(value []byte, depth int) (ok bool, err error) {
	if depth > maxDepth {
		return true, d.skip(SkipMalformed)
	}
	switch value[0] {
	case '{':
		return d.object(value, depth)
	case '[':
		return d.array(value, depth)
	case '"':
		if text, err := unquote(value); err == nil {
			return true, d.stream(text, depth+1)
		}
	}
	return jsontext.Value(value).IsValid(), d.skip(SkipMalformed)
}

func (d *shipped) array(array []byte, depth int) (ok bool, err error) {
	err = splitArray(array, func(element []byte) error {
		_, err := d.value(element, depth+1)
		return err
	})
	if errors.Is(err, errSplit) {
		return false, d.skip(SkipMalformed)
	}
	return true, err
}

// object reads an audit event, an entry of Google Cloud Logging, or an envelope. An event is never an envelope, too: who writes objects could
// make up events of others by what is in them.
func (d *shipped) object(object []byte, depth int) (ok bool, err error) {
	var isEvent, isEntry bool
	var envelopes []func() error
	err = splitObject(object, func(name, value []byte) error {
		switch string(name) {
		case "stage":
			isEvent = true
		case "protoPayload":
			isEntry = isEntry || value[0] == '{'
		case "items", "records", "logEvents": // EventList; Amazon Data Firehose and Azure diagnostic settings; Amazon CloudWatch Logs
			envelopes = d.envelope(envelopes, value, "[", depth)
		case "log", "message", "properties": // what reads lines, and Google Pub/Sub; Azure diagnostic settings
			envelopes = d.envelope(envelopes, value, `{"`, depth)
		case "data": // Amazon Data Firehose, Google Pub/Sub
			if value[0] == '"' {
				envelopes = append(envelopes, func() error { return d.data(value, depth+1) })
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return false, d.skip(SkipMalformed)
	case isEvent:
		return true, d.item(object)
	case isEntry:
		return true, d.entry(object)
	case len(envelopes) == 0 && jsontext.Value(object).IsValid(tolerant):
		return true, d.skip(SkipNoEvent)
	case len(envelopes) == 0:
		return false, d.skip(SkipMalformed)
	}
	for _, open := range envelopes {
		if err := open(); err != nil {
			return true, err
		}
	}
	return true, nil
}

// envelope adds value to the envelopes to be opened if it starts with one of kinds.
func (d *shipped) envelope(to []func() error, value []byte, kinds string, depth int) []func() error {
	if strings.IndexByte(kinds, value[0]) < 0 {
		return to
	}
	return append(to, func() error {
		_, err := d.value(value, depth+1)
		return err
	})
}

// data reads a text that is JSON in base64, perhaps compressed before.
func (d *shipped) data(value []byte, depth int) error {
	text, err := unquote(value)
	if err != nil {
		return d.skip(SkipMalformed)
	}
	decoded, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return d.skip(SkipMalformed)
	}
	if !bytes.HasPrefix(decoded, []byte{0x1f, 0x8b}) { // what gzip has compressed
		return d.stream(decoded, depth)
	}
	plain, err := d.inflate(decoded)
	switch {
	case errors.Is(err, ErrTooLarge):
		return err
	case err != nil:
		return d.skip(SkipMalformed)
	}
	return d.stream(plain, depth)
}

// inflate decompresses one record.
func (d *shipped) inflate(zipped []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	one, all := d.opts.Limits.MaxEventBytes, d.opts.Limits.MaxInflatedBytes
	plain, err := io.ReadAll(io.LimitReader(r, int64(one)+1))
	d.inflated += len(plain)
	switch {
	case d.inflated > all:
		return nil, fmt.Errorf("%w: its records are longer than %d bytes when decompressed; %s", ErrTooLarge, all, d.opts.advice())
	case err == nil && len(plain) > one:
		return nil, fmt.Errorf("record longer than %d bytes", one)
	}
	return plain, err
}
