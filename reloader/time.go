package reloader

import "time"

// Storable reports whether t can be stored and shown: from 1970 until 2261, in every time zone. Times come from outside, and one near the end
// of the year 9999 in another time zone lies in the year 10000 in UTC, which no JSON can hold.
func Storable(t time.Time) bool {
	const first, last = 1970, 2261 // the range of nanoseconds since 1970
	year := t.UTC().Year()
	return first <= year && year <= last
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
