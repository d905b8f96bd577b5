// Package mark makes the patch of a roll. A mark is what a tool writes into a pod template so that the workload rolls: an environment
// variable of some containers, or an annotation of the template. A Tool says which marks it writes: most are made in package dialect, next to
// the annotations of the tool. A Roll is all that is written at once. Functions take values and return values.
//
// Guarantees:
//
//   - One patch carries everything that a roll writes: the marks, HashKey in the pod template, annotations and fields of the object itself.
//   - Patch is a strategic merge patch that names containers and variables and never counts them. It keeps the order of containers, and
//     of variables that are not marks and have different names. (A merge moves variables of one name to the first of them.) What the patch
//     does not name stays as it is.
//   - Patch names the UID and the resource version of the workload that was read. The API server answers 409 if the object has changed.
//   - Equal input gives equal bytes, so a repeated roll is the same roll.
//   - Patch never adds a container. It removes a variable only if the workload shows it as a mark.
//   - Marks of a Tool leave out a variable that belongs to the user, so that the workload rolls and the variable stays. A variable with a
//     valueFrom is one.
//   - Apply gives what the API server makes of the same patch. Where the API server refuses the result because a variable has a valueFrom
//     of its own, Apply returns ErrTaken; where it answers 409, ErrMoved.
package mark
