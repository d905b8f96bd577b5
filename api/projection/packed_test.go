package projection

import (
	"fmt"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/reloader"
)

// stuff gives every field in v a value of its own, so that one that is forgotten is missed.
func stuff(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text-", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		stuff(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		stuff(v.Index(0), n)
		stuff(v.Index(1), n)
	case reflect.Map: // fingerprints of keys, which are not kept
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 12, 0, 0, *n, time.UTC)))
			return
		}
		for i := range v.NumField() {
			stuff(v.Field(i), n)
		}
	default:
		panic(v.Type())
	}
}

func stuffed[T any]() (record T) {
	n := 0
	stuff(reflect.ValueOf(&record).Elem(), &n)
	return record
}

// causeOf is what a reload says about c.
func causeOf(c reloader.Change) reloader.Cause {
	cause := reloader.Cause{
		ChangeID: c.ID, Config: c.Config, Why: reloader.ReasonAuto, Clause: "auto", Container: "app", OldSum: c.Old.Sum, NewSum: c.New.Sum, Keys: c.Keys,
		Candidates: c.Candidates, Source: c.Source, RequestedAt: c.RequestedAt, ReceivedAt: c.ReceivedAt, VerifiedAt: c.VerifiedAt,
	}
	if c.Type == reloader.ChangeDeleted {
		cause.NewSum = ""
	}
	return cause
}

func TestWhatIsPackedIsAllThere(t *testing.T) {
	c, r := stuffed[reloader.Change](), stuffed[reloader.Reload]()
	p := New(Limits{})
	p.AddChange(1, c)
	p.AddReload(1, r)
	p.AddChange(2, reloader.Change{ID: "bare"})
	p.AddReload(2, reloader.Reload{ID: "bare", Causes: []reloader.Cause{}})
	got, _ := changeNamed(p, c.ID)
	bare, _ := changeNamed(p, "bare")
	if diff := cmp.Diff([]*reloader.Change{&c, {ID: "bare"}}, []*reloader.Change{got, bare}); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	page, err := p.Reloads(Place{}, 10, all)
	if diff := cmp.Diff([]*reloader.Reload{{ID: "bare", Causes: []reloader.Cause{}}, &r}, page.Items); diff != "" || err != nil {
		t.Errorf("reloads (-want +got): %v\n%s", err, diff)
	}
}

// TestRecordsArePackedTight: a hundred thousand of them are kept. On 64 bits they fit the sizes in which memory is given out.
func TestRecordsArePackedTight(t *testing.T) {
	if change, reload := unsafe.Sizeof(packedChange{}), unsafe.Sizeof(packedReload{}); change > 160 || reload > 112 {
		t.Errorf("a change takes %d bytes, a reload %d", change, reload)
	}
}

func TestMoments(t *testing.T) {
	cases := map[string]struct {
		reason   string
		of, want time.Time
	}{
		"none":          {"nobody says when", time.Time{}, time.Time{}},
		"1970":          {"it is a time like any other", time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()},
		"the first":     {"it is the earliest that is kept", firstMoment.UTC(), firstMoment.UTC()},
		"the last":      {"it is the latest", lastMoment.UTC(), lastMoment.UTC()},
		"long before":   {"no clock shows it", firstMoment.Add(-1), time.Time{}},
		"the year 3000": {"no clock shows it", time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}},
		"elsewhere":     {"it is the same moment", time.Date(2026, 11, 21, 12, 0, 0, 7, time.FixedZone("", 3600)), time.Date(2026, 11, 21, 11, 0, 0, 7, time.UTC)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := momentOf(tc.of)
			if got := m.time(); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
			if !m.is(tc.of) || m.is(tc.of.Add(time.Second)) && m != noTime {
				t.Errorf("%s: a moment is the time that it is of, and no other", tc.reason)
			}
		})
	}
}

func TestCausesThatRepeatTheirChange(t *testing.T) {
	updated := stuffed[reloader.Change]()
	updated.Type, updated.Config.Cluster = reloader.ChangeUpdated, ""
	deleted := updated
	deleted.Type = reloader.ChangeDeleted
	more := updated
	more.Candidates = more.Candidates[:1]
	another := causeOf(updated)
	another.NewSum = "another"
	cases := map[string]struct {
		reason string
		change reloader.Change
		cause  reloader.Cause
		shared bool
	}{
		"the same":    {"all of it is said by the change", updated, causeOf(updated), true},
		"a deletion":  {"it brings a workload to no content", deleted, causeOf(deleted), true},
		"attribution": {"the reload tells what was known then", more, causeOf(updated), false},
		"another sum": {"nobody says why, and it is shown as it is", updated, another, false},
	}
	for name, tc := range cases {
		for _, first := range []string{"change", "reload"} {
			t.Run(name+", "+first+" first", func(t *testing.T) {
				p := New(Limits{})
				r := reloader.Reload{ID: "r", Cluster: tc.change.Cluster, Causes: []reloader.Cause{tc.cause}}
				if first == "reload" {
					p.AddReload(1, r)
				}
				p.AddChange(1, tc.change)
				if first == "change" {
					p.AddReload(1, r)
				}
				p.SetCaughtUp()
				got, _ := reloadNamed(p, "r")
				if diff := cmp.Diff(&r, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if shared := p.reloads.kept(recordKey{r.Cluster, "r"}).causes[0].whole == nil; shared != tc.shared {
					t.Errorf("shared %t, want %t: %s", shared, tc.shared, tc.reason)
				}
				if of := p.ReloadsOf(&tc.change); len(of) != 1 || !cmp.Equal(of[0], &r) {
					t.Errorf("of the change: %+v", of)
				}
			})
		}
	}
}
