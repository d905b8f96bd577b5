package kube

import (
	"context"
	"errors"
	"testing"
)

// TestRewind touches a canary that is given one version after the other, and looks whether somebody notices that they went back.
func TestRewind(t *testing.T) {
	for name, test := range map[string]struct {
		versions []string
		gone     bool
		want     error
	}{
		"versions grow":               {[]string{"8", "9", "10", "1000"}, false, nil},
		"a version is lower":          {[]string{"8", "10", "9"}, false, ErrRewound},
		"it was made anew, later":     {[]string{"8", "10", "11"}, true, nil},
		"it was made anew, earlier":   {[]string{"8", "10", "9"}, true, ErrRewound},
		"versions are no numbers":     {[]string{"z", "y", "x"}, false, nil},
		"there is one version":        {[]string{"7"}, false, nil},
		"a version that says nothing": {[]string{"10", "", "11"}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHerald(t)
			c := clusterAt(t, h)
			for _, version := range test.versions {
				h.mu.Lock()
				h.version, h.exists = version, h.exists && !test.gone
				h.mu.Unlock()
				if _, err := c.TouchCanary(t.Context(), h.URL, "id", false); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			if test.want == nil {
				cancel()
			}
			defer cancel()
			if got := c.AwaitRewind(ctx); !errors.Is(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestRewindOfWritesSideBySide: of two writes through two API servers the answer of the earlier one may come last.
func TestRewindOfWritesSideBySide(t *testing.T) {
	w := newTide()
	one, two := w.now(), w.now()
	w.note(two, "11")
	w.note(one, "10")
	select {
	case <-w.turned:
		t.Error("writes that were under way at the same time are taken for a way back")
	default:
	}
	w.note(w.now(), "9")
	<-w.turned
}
