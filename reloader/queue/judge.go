package queue

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// mismatch names the settings that the server did not take over. Older servers drop what they do not know without a word.
func mismatch(is, want jetstream.StreamConfig) error {
	var errs []error
	a, b := reflect.ValueOf(is), reflect.ValueOf(want)
	for i := range a.NumField() {
		field := a.Type().Field(i).Name
		if field == "AllowAtomicPublish" || field == "AllowMsgTTL" {
			continue // Looked at where they are used: there is a way without them.
		}
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			errs = append(errs, fmt.Errorf("stream %s: the server has %s = %v, wanted %v", is.Name, field, x, y))
		}
	}
	return errors.Join(errs...)
}

// unfit names what is so about a stream that the promises of this package cannot be kept with it, however large it is.
func unfit(is, want jetstream.StreamConfig) error {
	var errs []error
	check := func(bad bool, what string) {
		if bad {
			errs = append(errs, fmt.Errorf("stream %s cannot be used: %s", is.Name, what))
		}
	}
	for _, subject := range want.Subjects {
		check(!slices.ContainsFunc(is.Subjects, func(s string) bool { return Permits(s, subject) }), "it does not take "+subject)
	}
	check(is.Retention != want.Retention, fmt.Sprintf("its retention is %v, not %v", is.Retention, want.Retention))
	check(is.Discard != want.Discard, fmt.Sprintf("when it is full it discards by %v, not %v", is.Discard, want.Discard))
	check(is.Storage != want.Storage, fmt.Sprintf("its storage is %v, not %v", is.Storage, want.Storage))
	check(!is.AllowDirect, "it does not allow direct reads")
	check(is.DenyPurge, "it cannot be purged")
	check(is.NoAck, "it does not acknowledge")
	check(is.PersistMode == jetstream.AsyncPersistMode, "it acknowledges before it has stored")
	check(is.Sealed, "it is sealed")
	return errors.Join(errs...)
}

// grown returns want with no limit that is less than that of is.
func grown(is, want jetstream.StreamConfig) jetstream.StreamConfig {
	want.MaxMsgsPerSubject = larger(is.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	want.MaxBytes = larger(is.MaxBytes, want.MaxBytes)
	want.MaxAge = larger(is.MaxAge, want.MaxAge)
	want.Replicas = max(is.Replicas, want.Replicas)
	return want
}

// larger returns the larger one of two limits. One that is not positive is none.
func larger[T int64 | time.Duration](a, b T) T {
	if a <= 0 || b <= 0 {
		return min(a, b)
	}
	return max(a, b)
}

// shrinks names the limits that would get less if is became want.
func shrinks(is, want jetstream.StreamConfig) []string {
	var less []string
	kept := grown(is, want)
	add := func(smaller bool, what string, from, to any) {
		if smaller {
			less = append(less, fmt.Sprintf("%s from %v to %v", what, from, to))
		}
	}
	add(kept.MaxMsgsPerSubject != want.MaxMsgsPerSubject, "messages per subject", limit(is.MaxMsgsPerSubject), want.MaxMsgsPerSubject)
	add(kept.MaxBytes != want.MaxBytes, "bytes", limit(is.MaxBytes), want.MaxBytes)
	add(kept.MaxAge != want.MaxAge, "age", limit(is.MaxAge), want.MaxAge)
	add(want.Replicas > 0 && kept.Replicas != want.Replicas, "replicas", is.Replicas, want.Replicas)
	return less
}

// limit returns a limit as it can be read.
func limit[T int64 | time.Duration](l T) any {
	if l <= 0 {
		return "no limit"
	}
	return l
}
