package cli

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"sigs.k8s.io/yaml"
)

// maxAuditFile is how many bytes of a file for the API server are read. The longest policies in use have some 20 KB.
const maxAuditFile = 1 << 20

// readFile returns the content of a file that is not too long.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxAuditFile+1))
	if err == nil && len(content) > maxAuditFile {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxAuditFile)
	}
	return content, err
}

// mergeFile returns the policy of a file with our rules in front, and what it reported in more detail without them.
func (p *auditPolicy) mergeFile() (merged string, lowered []string, err error) {
	content, err := readFile(p.merge)
	if err != nil {
		return "", nil, err
	}
	merged, lowered, err = p.mergeWith(content)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", p.merge, err)
	}
	return merged, lowered, nil
}

// ourStages are left out by our rules. A policy that is there already may want them for its own.
const ourStages = "  omitStages: [RequestReceived, ResponseStarted]\n"

// mergeWith is mergeFile for the content of a file.
func (p *auditPolicy) mergeWith(content []byte) (merged string, lowered []string, err error) {
	theirs, err := readPolicy(content)
	if err != nil {
		return "", nil, err
	}
	if slices.Contains(theirs.OmitStages, auditv1.StageResponseComplete) {
		return "", nil, fmt.Errorf("its omitStages leave out %s for every rule, and with it all that Reroll needs: say it in its own rules instead", auditv1.StageResponseComplete)
	}
	text := p.front()
	var ours []auditv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(text), &ours); err != nil {
		return "", nil, fmt.Errorf("--ignore-namespace: %w", err)
	}
	want := *theirs.DeepCopy()
	want.Rules = append(ours, want.Rules...)
	if err := validPolicy(want); err != nil {
		return "", nil, err
	}
	merged, err = insert(content, text, want)
	return merged, p.wasMore(theirs), err
}

// readPolicy reads a policy as an API server does, and refuses what it would only warn of.
func readPolicy(content []byte) (auditv1.Policy, error) {
	var p auditv1.Policy
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return p, fmt.Errorf("it is no audit policy: %w", err)
	}
	if p.Kind != "Policy" || p.APIVersion != auditv1.SchemeGroupVersion.String() {
		return p, fmt.Errorf("it is no audit policy: kind %q of apiVersion %q is not Policy of %s", p.Kind, p.APIVersion, auditv1.SchemeGroupVersion)
	}
	return p, validPolicy(p)
}

// validPolicy returns why an API server would not start with a policy.
func validPolicy(p auditv1.Policy) error {
	var internal audit.Policy
	if err := auditv1.Convert_v1_Policy_To_audit_Policy(p.DeepCopy(), &internal, nil); err != nil {
		return err
	}
	if err := validation.ValidatePolicy(&internal).ToAggregate(); err != nil {
		return fmt.Errorf("the API server would not start with it: %w", err)
	}
	return nil
}

// rulesStart is the line before the first rule of a policy in block style.
var rulesStart = regexp.MustCompile(`(?m)^rules:[ \t]*(#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*( *)- `)

// insert puts rules before the first one of a policy, whose comments stay; where its text does not let it, they go.
func insert(content []byte, rules string, want auditv1.Policy) (string, error) {
	if at := rulesStart.FindSubmatchIndex(content); at != nil {
		end := at[0] + strings.IndexByte(string(content[at[0]:]), '\n') + 1
		text := string(content[:end]) + shift(rules, string(content[at[4]:at[5]])) + string(content[end:])
		var got auditv1.Policy
		if err := yaml.UnmarshalStrict([]byte(text), &got); err == nil && reflect.DeepEqual(got, want) {
			return text, nil
		}
	}
	text, err := yaml.Marshal(want)
	return string(text), err
}

// wasMore says which writes a policy reported with content, which our rules keep out of everybody's log: a warning for each of its rules that
// decided about some of them, by resource.
func (p *auditPolicy) wasMore(theirs auditv1.Policy) []string {
	var warnings []string
	for _, resource := range configResources {
		warnings = append(warnings, lowered(theirs, write{resource: resource}, configVerbs)...)
	}
	if p.classes {
		warnings = append(warnings, lowered(theirs, write{group: rotationsGroup, resource: rotationsResource}, rotationsVerbs)...)
	}
	return warnings
}

// lowered returns a warning for each rule of a policy that reported writes of a resource with their content.
func lowered(theirs auditv1.Policy, w write, verbs []string) []string {
	var warnings []string
	for _, rule := range theirs.Rules {
		var told, left []string
		var whose limits
		for _, w.verb = range verbs {
			l, speaks := w.limitedBy(rule)
			if speaks {
				told, whose = append(told, w.verb), l
			}
			if !speaks || !l.none() {
				left = append(left, w.verb) // rules behind this one decide about some of them as well
			}
		}
		verbs = left
		complete := !slices.Contains(rule.OmitStages, auditv1.StageResponseComplete)
		if told != nil && complete && (rule.Level == auditv1.LevelRequest || rule.Level == auditv1.LevelRequestResponse) {
			warnings = append(warnings, fmt.Sprintf("%s of %s%s was reported with its content, and is not any more, to nobody: the first rule that matches decides",
				strings.Join(told, ", "), w.resource, whose))
		}
	}
	return warnings
}
