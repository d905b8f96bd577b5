package cli

import (
	"strings"
	"testing"
)

// TestCommandLine follows a user through a day: they watch a roll, pause, ask why nothing rolls, resume, pause everything, and check, by the binary
// and kubectl alone.
func TestCommandLine(t *testing.T) {
	d := newDesk(t)
	d.apply(objects)
	d.waitFor("UpToDate: Nothing has changed", "explain", "deploy/web", "-n", d.ns)

	id := d.watch(func() { d.apply(strings.Replace(objects, "low", "high", 1)) })
	if outcome := d.reroll(0, "get", "reloads", id, "-o", "jsonpath={.outcome} {.causes[*].candidates[*].user}"); !strings.HasPrefix(outcome, "Reloaded ") || outcome == "Reloaded \n" {
		t.Errorf("the roll that was watched is %q", outcome)
	}
	if who := d.reroll(0, "get", "changes", "-n", d.ns, "--for-config", "cm/settings", "-o", "jsonpath={.items[0].candidates[*].user}"); who == "\n" {
		t.Error("nobody is named for the change")
	}
	d.waitFor("ConfigMap/settings: Rolling", "explain", "deploy", "web", "-n", d.ns)

	d.gate()
	d.foresee()
	d.pause()
	d.pauseAll()
	d.plugin()
	d.check()
	d.kept("GET changes 200", "GET workloads 200", "GET clusters 200", "GET events 200", "GET self 200", "POST impact 200")
}

// pause holds back a roll, and lets it go, by the commands that are printed.
func (d *desk) pause() {
	d.t.Helper()
	d.reroll(0, "pause", "-n", d.ns, "-l", "app=web", "--for", "1h", "--reason", "a sale", "--reroll-namespace", "default")
	d.reroll(0, "pause", "-n", d.ns, "-l", "app=other", "--for", "1h", "--reroll-namespace", "default")
	d.waitFor("a sale", "status")
	d.apply(strings.Replace(objects, "low", "higher", 1))
	d.waitFor("Held: The workload is held back: its reloads are paused by an operator", "explain", "deploy/web", "-n", d.ns)
	d.waitFor("PausedByOperator", "get", "workloads", "-n", d.ns, "--state", "Held")
	d.watch(func() { d.next(0, "explain", "deploy/web", "-n", d.ns) })
	if left := d.kubectl("get", "configmap", "reroll-control", "-n", "default", "-o", "jsonpath={.data}"); !strings.Contains(left, "app=other") || strings.Contains(left, "app=web") {
		d.t.Errorf("the pauses left are %s", left)
	}
	d.reroll(1, "resume", "-n", d.ns, "-l", "app=web", "--reroll-namespace", "default")
	d.next(0, "status", "-n", d.ns)
	d.waitFor("ConfigMap/settings: Rolling", "explain", "deploy/web", "-n", d.ns)
}

// pauseAll holds back everything, which a gate before a merge tells.
func (d *desk) pauseAll() {
	d.t.Helper()
	d.reroll(0, "pause", "-A", "--reroll-namespace", "default", "--reason", "an incident")
	d.waitFor("an incident", "status")
	d.waitFor("frozen", "impact", "cm/settings", "-n", d.ns)
	d.reroll(1, "impact", "cm/settings", "-n", d.ns, "--exit-code")
	d.reroll(0, "impact", "cm/unused", "-n", d.ns, "--exit-code")
	d.next(0, "status")
	d.waitFor("1 would roll", "impact", "cm/settings", "-n", d.ns)
}

// foresee asks what would become of a change, makes it, and finds that become of it: nothing, as a gate before a merge was told.
func (d *desk) foresee() {
	d.t.Helper()
	d.apply(sleepers)
	said := map[string]string{}
	for workload, outcome := range map[string]string{"CronJob/nightly": "Suspended", "Deployment/picky": "KeysUnused"} {
		said[workload] = outcome
		d.waitFor("UpToDate: Nothing has changed", "explain", workload, "-n", d.ns)
		d.waitFor(workload+"  Never: ", "impact", "cm/rates", "-n", d.ns, "--key", "debug")
	}
	d.reroll(0, "impact", "cm/rates", "-n", d.ns, "--key", "debug", "--exit-code")
	d.reroll(1, "impact", "cm/rates", "-n", d.ns, "--key", "tax", "--exit-code")
	d.reroll(1, "impact", "nowhere/"+d.ns+"/cm/rates", "--exit-code")
	d.apply(strings.Replace(sleepers, `debug: "0"`, `debug: "1"`, 1))
	for workload, outcome := range said {
		d.waitFor(outcome+"\n", "get", "reloads", workload, "-n", d.ns, "-o", `jsonpath={range .items[*]}{.outcome}{"\n"}{end}`)
	}
	d.kubectl("patch", "cronjob/nightly", "-n", d.ns, "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	d.waitFor("CronJob/nightly  Now: ", "impact", "cm/rates", "-n", d.ns, "--key", "debug")
}

// plugin calls it as kubectl does.
func (d *desk) plugin() {
	d.t.Helper()
	if said := d.kubectl("reroll", "get", "workloads", "-n", d.ns, "--for-config", "cm/settings", "-o", "name"); said != d.ns+"/Deployment/web\n" {
		d.t.Errorf("kubectl reroll says %q", said)
	}
	if said := d.kubectl("__complete", "reroll", "explain", "-n", d.ns, "Dep"); !strings.Contains("\n"+said, "\nDeployment/web\n") {
		d.t.Errorf("kubectl completes %q", said)
	}
	if said := d.kubectl("reroll", "explain", "--help"); !strings.Contains(said, "kubectl reroll explain") {
		d.t.Errorf("its help says %q", said)
	}
}

// check finds nothing wrong where nothing is.
func (d *desk) check() {
	d.t.Helper()
	d.waitFor("✓ cluster local: ", "check")
	if said := d.reroll(0, "check", "--pre", "--reroll-namespace", "fresh"); !strings.Contains(said, "✓ rights: you may create what the chart installs") {
		d.t.Errorf("before an installation it says:\n%s", said)
	}
}
