// Package cli is the commands that ask and tell: what is so, what happened, why, and what would be if.
//
//	command ─▶ target (which server, by which way, as whom) ─▶ client (REST, pages, problems) ─▶ answer ─▶ output (table, wide, json, yaml, name, jsonpath)
//	   │                                                                                          ▲
//	   └─ scope, refs (cluster, namespace, KIND/NAME) ────────────────────────────────────────────┘
//
// It promises:
//   - Standard output has the answer and nothing else; warnings, progress and errors go to standard error.
//   - -o json and -o yaml show what the API answered, also fields that this version does not know; a listing is all its pages as one.
//   - A terminal gets no control characters but this program's own colours, whatever names and messages contain; and no colours if
//     NO_COLOR is set or it is no terminal.
//   - Nothing is written to a cluster: commands that change something there are those of package app.
//   - The codes that a process ends with are those of ExitCode, and no others.
package cli
