// Package newcomer makes the mistakes that people make, on a real control plane, and reads what Reroll says of them: the first line of
// reroll explain, the status, and what the dashboard shows on the page of a workload.
package newcomer
