package cli

import (
	"crypto/rand"
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/reroll-dev/reroll/api/view"
)

// reloadFlags say what is rolled, and why.
type reloadFlags struct {
	question
	scope
	reason string
}

// reloadCommand rolls a workload now.
func reloadCommand(version string) *cobra.Command {
	q := &reloadFlags{question: question{version: version}}
	cmd := &cobra.Command{
		Use:   "reload " + refForm,
		Short: "Roll a workload now, although nothing it uses has changed",
		Long: "Roll a workload now, although nothing it uses has changed. The server has to know who asks (its --auth), who asks needs the verb reload on " +
			"workloads of reroll.dev, and both are on record with the reload. Freezes and pauses are kept.\n" +
			"-o name has the ID of the reload, and -o wide also that of the command, and the cluster.",
		Example: "  reroll reload shop/Deployment/cart --reason 'new certificates'\n  reroll reload deploy/cart -n shop --token-file token --server https://reroll.example.com",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return q.run(cmd, args[0]) },
	}
	q.question.bindPlain(cmd, allFormats...)
	q.scope.bind(cmd, &q.question)
	cmd.Flags().StringVar(&q.reason, "reason", "", "why, for those who ask later")
	cmd.ValidArgsFunction = firstOnly(q.complete(workloadNames))
	return cmd
}

func (f *reloadFlags) run(cmd *cobra.Command, name string) error {
	s, err := f.open(cmd)
	if err != nil {
		return err
	}
	r, err := s.workload(name, f.scope)
	if err != nil {
		return err
	}
	why, err := json.Marshal(map[string]string{"reason": f.reason})
	if err != nil {
		return err
	}
	// However often it is sent, it is carried out once.
	header := http.Header{"Idempotency-Key": {rand.Text()}}
	body, err := s.ask(s, http.MethodPost, path("workloads", r.cluster, r.namespace, r.kind, r.name, "reload"), nil, why, header)
	if err != nil {
		return err
	}
	var done view.Command
	if err := decode(body, &done); err != nil {
		return err
	}
	return printOne(s, &f.output, body, done.ReloadID, func(l *lines) {
		l.addf("%s: %s, %s", r, done.Outcome, done.ReloadID)
		if f.form() == formatWide {
			l.field("Command", done.ID)
			l.field("Cluster", done.Cluster)
			l.field("Result", done.Result)
		}
	})
}
