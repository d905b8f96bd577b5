package tenancy

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment is a time in what the REST API says.
var moment = regexp.MustCompile(`,"at":"[^"]*"`)

// said is what the REST API tells the tenant of one of their workloads and a Secret that it names, but for the names of both and the times.
func (who *tenant) said(deployment, secret string) string {
	who.T.Helper()
	w := who.record(who.token, who.own, deployment, 2)
	w.Dependencies = slices.DeleteFunc(w.Dependencies, func(d map[string]any) bool { return !strings.Contains(fmt.Sprint(d["config"]), who.theirs) })
	for _, d := range w.Dependencies {
		delete(d, "appliedAt")
	}
	text, err := json.Marshal(w)
	who.Must(err)
	query := url.Values{"configNamespace": {who.theirs}, "configKind": {"Secret"}, "configName": {secret}}
	code, answer := who.ask(who.token, pathOf(who.own, deployment)+"?"+query.Encode())
	var of struct {
		Explanations json.RawMessage `json:"explanations"`
	}
	who.Must(json.Unmarshal([]byte(answer), &of))
	explained := moment.ReplaceAllString(string(of.Explanations), "")
	return strings.NewReplacer(`"`+deployment+`"`, "DEPLOYMENT", `"`+secret+`"`, "SECRET", "/"+secret, "/SECRET", "/"+deployment, "/DEPLOYMENT").
		Replace(fmt.Sprintf("%s\n%d %s", text, code, explained))
}

// TestSecretsOfOthersAreAsAbsent: a Secret of another namespace that the tenant names, and that is made, changed and deleted meanwhile, looks as one
// that does not exist, and nothing of it is on record.
func TestSecretsOfOthersAreAsAbsent(t *testing.T) {
	who := newTenant(t)
	who.secret("made", "1", nil)
	for _, name := range []string{"made", "none"} {
		who.deploy(who.client, who.own, name, map[string]string{"reroll.dev/auto": "true", "reroll.dev/secrets": who.theirs + "/" + name + ", " + who.theirs + "/*"}, nil)
	}
	compare := func() {
		t.Helper()
		made, none := who.said("made", "made"), who.said("none", "none")
		if made != none || !strings.Contains(made, "NotShared") || !strings.Contains(made, "\n200 ") {
			t.Errorf("of the one that exists:\n%s\nof the one that does not:\n%s", made, none)
		}
	}
	compare()
	for n := range 3 {
		who.secret("made", fmt.Sprint("new ", n), nil)
		who.edit(who.client, who.own, fmt.Sprint("new ", n))
		who.generations(who.own, int64(n)+2, "made", "none")
		compare()
	}
	who.Must(who.owner().CoreV1().Secrets(who.theirs).Delete(who.Ctx(), "made", metav1.DeleteOptions{}))
	who.edit(who.client, who.own, "last")
	who.generations(who.own, 5, "made", "none")
	compare()
	for _, r := range who.reloads(who.own) {
		for _, c := range r.Causes {
			if c.Config.Namespace != who.own {
				t.Errorf("reload %s of %s tells of %+v", r.Outcome, r.Workload.Name, c)
			}
		}
	}
	if changes := who.changes(who.theirs); len(changes) > 0 {
		t.Errorf("changes of the other namespace are on record: %+v", changes)
	}
	if made, none := who.marks("made"), who.marks("none"); len(made) == 0 || !slices.Equal(made, none) {
		t.Errorf("one template has the marks %v, the other %v", made, none)
	}
}

// marks returns the names of the annotations and variables of a Deployment's template, sorted.
func (who *tenant) marks(deployment string) (names []string) {
	who.T.Helper()
	template := who.deployment(who.own, deployment).Spec.Template
	for key := range template.Annotations {
		names = append(names, key)
	}
	for _, v := range template.Spec.Containers[0].Env {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}

const waveKey = "wave.pusher.com/config-hash"

// waveMark is what Wave writes for the ConfigMap app as it is made, and a Secret with that password.
func waveMark(secret, password string) string {
	text := fmt.Sprintf(`{"configMaps":{"app":{"a":"MQ=="}},"secrets":{%q:{"password":%q}}}`, secret, base64.StdEncoding.EncodeToString([]byte(password)))
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// TestGuessedMarksLookAlike: marks of Wave with a right and with a wrong guess of a password, on Deployments without pods, have the same result. They
// have not where the owner of the Secret shares it.
func TestGuessedMarksLookAlike(t *testing.T) {
	who := newTenant(t)
	who.secret("kept", "hunter2", nil)
	who.secret("open", "hunter2", map[string]string{"reroll.dev/share-with": who.own})
	guess := func(name, secret, password string) {
		marks := map[string]string{}
		if password != "" {
			marks[waveKey] = waveMark(secret, password)
		}
		who.deploy(who.client, who.own, name, map[string]string{
			"wave.pusher.com/update-on-config-change": "true", "wave.pusher.com/extra-secrets": who.theirs + "/" + secret,
		}, marks)
	}
	guess("first", "open", "")
	who.record(who.token, who.own, "first", 2)
	guess("right-open", "open", "hunter2")
	guess("wrong-open", "open", "hunter3")
	guess("right", "kept", "hunter2")
	guess("wrong", "kept", "hunter3")
	who.generations(who.own, 2, "wrong-open", "right", "wrong")
	who.record(who.token, who.own, "right-open", 2)
	who.generations(who.own, 1, "right-open")
	mark := func(name string) string { return who.deployment(who.own, name).Spec.Template.Annotations[waveKey] }
	if right, wrong := mark("right"), mark("wrong"); right != wrong || right == waveMark("kept", "hunter2") {
		t.Errorf("the marks are %s and %s", right, wrong)
	}
}
