// Package strategy writes marks into pod templates, so that they roll.
//
// A strategy makes JSON patch operations and sends nothing. Equal marks on an equal workload give equal bytes: no operation
// contains a time other than that of the change it is for. The operations name places by their index and therefore hold only for
// the generation that was read: put Precondition before them.
package strategy
