package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// doctorFlags say what is examined besides the API.
type doctorFlags struct {
	question
	as, policy string
	namespaces []string
}

// doctorCommand examines whether everything that Reroll relies on is as it should be, and says how to mend what is not.
func doctorCommand(version string) *cobra.Command {
	q := &doctorFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine what Reroll relies on, and say how to mend what is wrong",
		Long: "Examine what Reroll relies on, and say how to mend what is wrong: what its dispatchers say of themselves, canaries and NATS among it; and if\n" +
			"asked for, its rights (--as) and the audit policy of the API server (--audit-policy).\n" +
			"Nothing is written. It ends with code 0 if nothing is wrong, 1 if something is, and 3 if something could not be found out.\n" +
			"-o wide is a table with a row for each finding; -o name has what to look at: the checks that are neither OK nor skipped.",
		Example: "  reroll doctor\n  reroll doctor --context east --reroll-namespace reroll --as system:serviceaccount:reroll:reroll\n" +
			"  reroll doctor --audit-policy audit-policy.yaml -o json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return judged(q.run(cmd)) },
	}
	cmd.AddCommand(migrateCommand(version))
	q.question.bind(cmd, allFormats...)
	f := cmd.Flags()
	f.StringVar(&q.as, "as", "", "whose rights are examined, such as system:serviceaccount:reroll:reroll; needs the right to impersonate it. If empty and --context or --kubeconfig is given: yours")
	f.StringSliceVar(&q.namespaces, "namespaces", nil, "the namespaces of the workloads, as in --namespaces of the dispatcher; all if empty")
	f.StringVar(&q.policy, "audit-policy", "", "file of the API server's --audit-policy-file")
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command) error {
	var found findings
	s, err := f.open(cmd)
	if code, _ := ExitCode(err); code == ExitUsage {
		return err
	}
	if err != nil { // which is a finding, and no reason to find out nothing else
		found.add("API", unclear, err.Error(), "name an address with --server")
		s = &session{Context: cmd.Context(), cmd: cmd, now: time.Now()}
	}
	p := newProgress(cmd.ErrOrStderr())
	for _, examination := range []struct {
		name string
		run  func(*session) findings
	}{
		{"the API", f.examineAPI},
		{"rights", f.examineRights},
		{"the audit policy", f.examinePolicy},
	} {
		p.say("looking at %s", examination.name)
		found = append(found, examination.run(s)...)
	}
	p.end()
	a, err := found.answer()
	if err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), a); err != nil {
		return err
	}
	switch {
	case found.has(wrong):
		return errAnswer
	case found.has(unclear):
		return coded{errAnswer.error, ExitUnknown}
	}
	return nil
}

func (f *doctorFlags) examinePolicy(*session) (found findings) {
	const check = "audit policy"
	if f.policy == "" {
		found.add(check, skipped, "not asked for", "give --audit-policy, the file of the API server's --audit-policy-file")
		return found
	}
	content, err := readFile(f.policy)
	if err != nil {
		found.add(check, unclear, err.Error(), "")
		return found
	}
	found.checkPolicy(content, f.own)
	return found
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	if i := slices.IndexFunc(texts, func(t string) bool { return t != "" }); i >= 0 {
		return texts[i]
	}
	return ""
}
