package notify

import (
	"testing"
)

func TestSinkBodies(t *testing.T) {
	for _, s := range sinks {
		t.Run(s.name, func(t *testing.T) {
			golden(t, "alert-"+s.name+".txt", s.encode("blue <1> : "+aboutPrices).body)
		})
	}
}
