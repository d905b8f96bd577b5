// Package cli is the commands of users: what is so, what happened, why, and what would be if; and what holds rolls back.
//
//	command ─▶ session (server or port-forward, token) ─▶ client (REST, pages, problems) ─▶ answer ─▶ print (table, wide, json, yaml, name, jsonpath)
//	   └─ globals (the eight flags), refs (cluster, namespace, KIND/NAME) ───────────────────┘
//
// It promises:
//   - Standard output has the answer and nothing else; warnings and errors go to standard error.
//   - -o json and -o yaml show what the API answered, also fields that this version does not know; a listing is all its pages as one.
//   - A terminal gets no control characters but this program's own colours, whatever names and messages contain; and no colours if
//     NO_COLOR is set or it is not a terminal.
//   - reload, retry, pause and resume alone write to a cluster, with the rights of the kubeconfig's user.
//   - A next command works as printed: it has the flags that chose the cluster.
//   - The codes that a process ends with are those of ExitCode, and no others.
package cli
