// Package dialect decides which changes reload which workloads, by the annotations of the tool that the workload was written for.
//
// A dialect is a table of clauses in the order in which they decide. Interest and Decide read the same table: Decide says yes only
// to configs that Interest named before. Both are pure, take time and memory within fixed bounds whatever the annotations say, and
// a fault in one workload's annotations shows as a Problem of that workload and nowhere else. Adding a tool is one file with its
// table.
package dialect
