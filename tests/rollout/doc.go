// Package rollout tests what Reroll says of what follows a reload, and what it does about it: with real controllers, a real scheduler and
// pods that run in name only.
package rollout
