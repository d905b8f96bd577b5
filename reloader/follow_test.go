package reloader_test

import (
	"errors"
	"testing"

	"github.com/reroll-dev/reroll/reloader"
)

func TestFollowNamesConfigsOfTheOwner(t *testing.T) {
	foreign := prices
	foreign.Cluster = "red"
	for name, c := range map[string]reloader.Config{"of a third cluster": foreign, "of no name": {Kind: reloader.Secret, Namespace: "shop"}} {
		data, err := reloader.Encode(reloader.Copy{Owner: "blue", Target: "green", Config: c})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reloader.Decode[reloader.Copy](data); !errors.Is(err, reloader.ErrInvalidName) {
			t.Errorf("a copy %s: %v", name, err)
		}
	}
	if got := wholeCopy.Followed().String(); got != "blue/ConfigMap/shop/prices.v2" {
		t.Errorf("followed as %s", got)
	}
}
