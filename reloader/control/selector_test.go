package control

import (
	"strings"
	"testing"
)

// TestParseSelector: a selector that no labels can match is refused, whatever way it contradicts itself.
func TestParseSelector(t *testing.T) {
	for text, possible := range map[string]bool{
		"": true, "a": true, "!a": true, "a=b": true, "a!=b": true, "a=b,c=d": true, "a in (b,c),a in (c,d)": true, "a,a!=b": true,
		"a>1": true, "a>1,a<3": true, "a>1,a!=2": true, "a notin (another-0,another-1)": true, "a>1,a<5,a notin (2,3)": true, "a=b,a!=c": true,
		"a=b,a=c": false, "a,!a": false, "a=b,!a": false, "a=b,a!=b": false, "a in (b,c),a in (d)": false, "a in (b),a notin (b,c)": false,
		"a>1,a<2": false, "a>1,a<4,a notin (2,3)": false, "a>1,!a": false, "a=x,a>1": false, "c=d,a=b,a=c": false,
	} {
		_, err := ParseSelector(text)
		if (err == nil) != possible {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && !strings.Contains(err.Error(), "about label a contradicts itself") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseSelector("a in"); err == nil || strings.Contains(err.Error(), "contradicts") {
		t.Errorf("what is no selector: %v", err)
	}
}

// TestPauseOfNothing: a document whose pause can select nothing cannot be read, and says why.
func TestPauseOfNothing(t *testing.T) {
	c := Parse(map[string]string{Key: "pauses: [{selector: 'a=b,a=c', until: '2030-01-31T18:00:00Z'}]"})
	if !strings.Contains(c.Problem, "contradicts itself") {
		t.Errorf("the problem is %q", c.Problem)
	}
}
