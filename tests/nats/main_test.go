package nats

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if serveMember() || serveHub() {
		return
	}
	os.Exit(m.Run())
}
