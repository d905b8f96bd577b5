package view

import "github.com/reroll-dev/reroll/reloader"

// Command is what became of something that was asked for, and is done.
type Command struct {
	ID       string `json:"id" doc:"Identifies the command in logs and records." example:"k-mfrggzdfmztwq2lk"`
	Cluster  string `json:"cluster" doc:"The cluster whose dispatcher has done it."`
	Result   string `json:"result" enum:"Done" doc:"Done, now or when it was asked for before."`
	ReloadID string `json:"reloadID,omitempty" doc:"The reload that came of it; its record follows within a second."`
	Outcome  Reason `json:"outcome,omitempty" doc:"The outcome of that reload."`
}

// FromCommandAnswer returns the view of the answer to a command that was done.
func FromCommandAnswer(a reloader.CommandAnswer) Command {
	return Command{ID: a.ID, Cluster: a.Cluster, Result: string(a.Result), ReloadID: a.ReloadID, Outcome: Reason(a.Outcome)}
}
