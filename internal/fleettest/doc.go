// Package fleettest tests processes that share operations. It starts the test binary again as other processes, kills and stops
// them at random, and checks what they have done: their machines are files, which outlive them, and the beginning of each step
// is in a log.
package fleettest
