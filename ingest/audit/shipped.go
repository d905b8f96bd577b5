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
	lines := isLines(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 || !lines {
			end = len(b)
		}
		part := trimLeft(b[:end])
		for b = b[end:]; len(part) > 0; part = trimLeft(part) {
			rest, ok, err := d.value(part, depth)
			if err != nil {
				return err
			}
			d.understood = d.understood || ok && (part[0] == '{' || part[0] == '[')
			if !ok {
				break
			}
			part = rest
		}
	}
	return nil
}

// value reads the value at the start of b. It returns what follows it and whether it is one, and fails only beyond a limit of the body.
func (d *shipped) value(b []byte, depth int) (rest []byte, ok bool, err error) {
	if depth <= maxDepth {
		switch b[0] {
		case '{':
			rest, err = d.object(b, depth)
		case '[':
			rest, err = d.array(b, depth)
		default:
			return d.scalar(b, depth)
		}
		if !errors.Is(err, errSplit) {
			return rest, true, err
		}
	}
	_, rest = splitValue(b)
	return rest, depth > maxDepth, d.skip(SkipMalformed)
}

func (d *shipped) scalar(b []byte, depth int) (rest []byte, ok bool, err error) {
	value, rest := splitValue(b)
	if value[0] == '"' {
		if text, err := unquote(nil, value); err == nil {
			return rest, true, d.stream(text, depth+1)
		}
	}
	return rest, jsontext.Value(value).IsValid(), d.skip(SkipMalformed)
}

func (d *shipped) array(b []byte, depth int) (rest []byte, err error) {
	return splitArray(b, func(b []byte) ([]byte, error) {
		rest, _, err := d.value(b, depth+1)
		return rest, err
	})
}

// object reads an audit event, an entry of Google Cloud Logging, or an envelope. An event is never an envelope, too: who writes objects could
// make up events of others by what is in them.
func (d *shipped) object(b []byte, depth int) (rest []byte, err error) {
	if bytes.HasPrefix(b, []byte(`{"kind":"Event"`)) { // as API servers write it: most need not be split
		if rest, ok := d.read(b); ok && d.event.Stage != "" {
			return rest, d.add(&d.event)
		}
	}
	var isEvent, isEntry bool
	var envelopes []func() error
	rest, err = splitObject(b, func(name, at []byte) ([]byte, error) {
		value, rest := splitValue(at)
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
		return rest, nil
	})
	if err != nil {
		return nil, err
	}
	object := b[:len(b)-len(rest)]
	switch {
	case isEvent:
		_, err = d.item(object)
		return rest, err
	case isEntry:
		return rest, d.entry(object)
	case len(envelopes) == 0 && jsontext.Value(object).IsValid(tolerant):
		return rest, d.skip(SkipNoEvent)
	case len(envelopes) == 0:
		return nil, errSplit
	}
	for _, open := range envelopes {
		if err := open(); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// envelope adds value to the envelopes to be opened if it starts with one of kinds.
func (d *shipped) envelope(to []func() error, value []byte, kinds string, depth int) []func() error {
	if strings.IndexByte(kinds, value[0]) < 0 {
		return to
	}
	return append(to, func() error {
		_, _, err := d.value(value, depth+1)
		return err
	})
}

// data reads a text that is JSON in base64, perhaps compressed before.
func (d *shipped) data(value []byte, depth int) error {
	text, err := unquote(nil, value)
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
		return nil, fmt.Errorf("%w: its records are longer than %d bytes when decompressed", ErrTooLarge, all)
	case err == nil && len(plain) > one:
		return nil, fmt.Errorf("record longer than %d bytes", one)
	}
	return plain, err
}
