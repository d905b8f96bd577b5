package notify

import (
	"net/http"
	"testing"
	"time"
)

// FuzzRetryAfter reads how long somebody who is called asks to wait.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, header := range []string{"", "7", "-1", "99999999999999999999", "2147483647", now.Add(time.Minute).Format(http.TimeFormat), "Fri, 31 Dec 9999 23:59:59 GMT", "\x00"} {
		f.Add(header, 503)
	}
	f.Fuzz(func(t *testing.T, header string, status int) {
		err := &StatusError{Status: status, retryAfter: header}
		if wait := pauseAfter(err, time.Second, now); wait < 0 || wait > longestPause {
			t.Errorf("%q is read as %s", header, wait)
		}
		if err.Refused() && worthAnother(err) {
			t.Errorf("status %d is both final and worth another try", status)
		}
	})
}
