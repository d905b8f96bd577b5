package app

import "testing"

// TestWantsCanary: where nothing is to come back, nothing is sent.
func TestWantsCanary(t *testing.T) {
	for name, tc := range map[string]struct {
		role string
		args []string
		want bool
	}{
		"one process":      {role: "serve", want: true},
		"turned off":       {role: "serve", args: []string{"--canary-interval=0"}},
		"dry run":          {role: "serve", args: []string{"--dry-run"}},
		"no audit source":  {role: "serve", args: []string{"--ingest-address="}},
		"ingest elsewhere": {role: "dispatch", args: []string{"--nats-url=n", "--cluster-name=c"}, want: true},
		"watch alone":      {role: "serve", args: []string{"--source=watch"}},
		"audit alone":      {role: "serve", args: []string{"--source=audit"}, want: true},
		"watch elsewhere":  {role: "dispatch", args: []string{"--nats-url=n", "--cluster-name=c", "--source=watch"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := settingsOf(t, tc.role, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range roles {
				if r.name == tc.role && s.wantsCanary(r) != tc.want {
					t.Errorf("a canary is wanted: %t, want %t", !tc.want, tc.want)
				}
			}
		})
	}
}
