// Package dialect decides which changes reload which workloads, by the annotations of the tool that the workload was written for.
//
// A dialect is a table of clauses in their order of decision. Compile reads the annotations of a workload once; the Plan that it
// returns answers for every config. Decide says yes only to configs that Matches reports. A fault in one workload's annotations shows as a
// Problem of that workload and nowhere else. A new tool is one file with its table, and one word in All.
package dialect
