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
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
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
	merged, err = insert(content, text, want)
	if err != nil {
		return "", nil, err
	}
	if _, err := policy.LoadPolicyFromBytes([]byte(merged)); err != nil {
		return "", nil, fmt.Errorf("the API server would not start with the outcome: %w", err)
	}
	lowered, err = p.lowered(content)
	return merged, lowered, err
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
	if _, err := policy.LoadPolicyFromBytes(content); err != nil {
		return p, fmt.Errorf("the API server would not start with it: %w", err)
	}
	return p, nil
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

// lowered returns a warning for each rule of a policy that reported writes with their content, which our rules keep out of the log. It asks
// the API server's evaluator about writes that the rule is about.
func (p *auditPolicy) lowered(content []byte) (warnings []string, err error) {
	theirs, err := policy.LoadPolicyFromBytes(content)
	if err != nil {
		return nil, err
	}
	evaluator := policy.NewPolicyRuleEvaluator(theirs)
	for i, rule := range theirs.Rules {
		if rule.Level.Less(audit.LevelRequest) {
			continue
		}
		who := user.DefaultInfo{Name: firstOf(append(slices.Clone(rule.Users), "sample-user")...), Groups: append(slices.Clone(rule.UserGroups), user.AllAuthenticated)}
		for _, resource := range append(slices.Clone(configResources), rotationsResource) {
			write := authorizer.AttributesRecord{User: &who, Resource: resource, Namespace: firstOf(append(slices.Clone(rule.Namespaces), "default")...)}
			verbs := configVerbs
			if resource == rotationsResource {
				write.APIGroup, verbs = rotationsGroup, rotationsVerbs
			}
			if i := slices.IndexFunc(rule.Resources, func(g audit.GroupResources) bool { return slices.Contains(g.Resources, resource) }); i >= 0 {
				write.Name = firstOf(rule.Resources[i].ResourceNames...)
			}
			more := slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool {
				write.Verb = verb
				return reported(evaluator, &write).Less(audit.LevelRequest)
			})
			if len(more) > 0 && (p.classes || resource != rotationsResource) {
				warnings = append(warnings, fmt.Sprintf("rule %d reported %s of %s with content, which the merged policy keeps out of every audit log: the first rule that matches decides",
					i+1, strings.Join(more, ", "), resource))
			}
		}
	}
	return warnings, nil
}
