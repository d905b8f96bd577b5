// Package bench measures the whole line on the rig, and each figure next to that of a bare loop on the same API server in the same run. The
// machines it runs on are shared: read the ratios, not the milliseconds.
package bench
