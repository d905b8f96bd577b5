package view

// Self is who asks, and what they may do.
type Self struct {
	Authenticated bool              `json:"authenticated" doc:"Whether the server knows who is asking."`
	User          string            `json:"user,omitempty" doc:"The user's name. Absent if nobody is authenticated."`
	Groups        []string          `json:"groups" nullable:"false" doc:"The user's groups."`
	Actions       []string          `json:"actions" nullable:"false" doc:"What the user may do in every namespace besides reading."`
	ConfigActions []string          `json:"configActions" nullable:"false" doc:"What the user may do to configs of every namespace besides reading. To retry is among actions if it may be done to workloads, and here if it may be done to configs."`
	Namespaces    []NamespaceRights `json:"namespaces" nullable:"false" doc:"The user's rights in each namespace that was asked about, in the same order."`
}

// NamespaceRights is what a user may do in one namespace.
type NamespaceRights struct {
	Namespace     string   `json:"namespace" doc:"The namespace."`
	Actions       []string `json:"actions" nullable:"false" doc:"What the user may do there besides reading."`
	ConfigActions []string `json:"configActions" nullable:"false" doc:"What the user may do to configs there besides reading."`
}
