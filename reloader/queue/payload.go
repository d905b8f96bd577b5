package queue

import (
	"fmt"

	"github.com/reroll-dev/reroll/reloader"
)

const (
	// minPayload is the smallest max_payload of a server with which Reroll works: below it, ordinary records would lose parts.
	minPayload = 64 << 10
	// headerRoom is what the headers of a message may take of max_payload.
	headerRoom = 8 << 10
)

// limit returns how many bytes a record may have: what the wire allows, or less if the server takes less now.
func (q *Queue) limit() int {
	return min(reloader.MaxWireBytes, max(minPayload, int(q.nc.MaxPayload()))-headerRoom)
}

// checkPayload reports whether the server takes messages that are long enough, and logs if they are shorter than records can be.
func (q *Queue) checkPayload() error {
	switch takes := q.nc.MaxPayload(); {
	case takes < minPayload:
		return fmt.Errorf("the NATS server takes messages of at most %d bytes, and Reroll needs %d: set max_payload of the server to 1MB, its default", takes, minPayload)
	case takes < reloader.MaxWireBytes+headerRoom:
		q.log.Warn("the NATS server takes shorter messages than records can have; longer records are stored without some of their parts",
			"max_payload", takes, "needed", reloader.MaxWireBytes+headerRoom)
	}
	return nil
}

// fitting returns data, a record of a kind that another server took, as a record that this one takes.
func (q *Queue) fitting(kind reloader.RecordKind, data []byte) ([]byte, error) {
	if len(data) <= q.limit() {
		return data, nil
	}
	switch kind {
	case reloader.ChangeRecords:
		return refitted[reloader.Change](data, q.limit())
	case reloader.ReloadRecords:
		return refitted[reloader.Reload](data, q.limit())
	case reloader.WorkloadRecords:
		return refitted[reloader.WorkloadRecord](data, q.limit())
	}
	return nil, fmt.Errorf("a record of %d bytes of the unknown kind %q", len(data), kind)
}

func refitted[R reloader.Record](data []byte, limit int) ([]byte, error) {
	r, err := reloader.Decode[R](data)
	if err != nil {
		return nil, err
	}
	return reloader.EncodeWithin(r, limit)
}
