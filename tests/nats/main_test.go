package nats

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if serveMember() {
		return
	}
	os.Exit(m.Run())
}
