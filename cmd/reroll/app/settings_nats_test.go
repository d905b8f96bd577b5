package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reroll-dev/reroll/reloader/queue"
)

// TestNATSSettingsReachTheQueue sets every flag, each to something else.
func TestNATSSettingsReachTheQueue(t *testing.T) {
	s, err := settingsOf(t, "serve", "--nats-url=tls://a:4222,tls://b:4222", "--nats-creds=1", "--nats-user=3",
		"--nats-password-file=4", "--nats-tls-ca=6", "--nats-tls-cert=7", "--nats-tls-key=8",
		"--nats-inbox-prefix=_INBOX_x", "--nats-replicas=3", "--nats-store-size=1Gi")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.NATS.options(s.NATSURL)
	if err != nil {
		t.Fatal(err)
	}
	want := queue.Options{
		URL: "tls://a:4222,tls://b:4222", InboxPrefix: "_INBOX_x", Replicas: 3, MaxStore: 1 << 30,
		Login: queue.Login{
			Credentials: "1", User: "3", PasswordFile: "4", CAFile: "6", CertFile: "7", KeyFile: "8",
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(queue.Options{})); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

// TestStoreSizeNeedsNoExternalNATS shows that the one flag which is for the embedded NATS as well is accepted without another.
func TestStoreSizeNeedsNoExternalNATS(t *testing.T) {
	s, err := settingsOf(t, "serve", "--nats-store-size=512Mi")
	if err != nil {
		t.Fatal(err)
	}
	if o, err := s.NATS.options(s.NATSURL); err != nil || o.MaxStore != 512<<20 {
		t.Errorf("%d bytes, error %v", o.MaxStore, err)
	}
}
