// Package soak runs whole lifecycles of VNFs while faults happen, and wants of each operation the end state of a run in
// which no fault happens. It has tests only:
//
//	make soak-lifecycles SOAK=10m
//	VNFKIT_SEED=4711 go test -race -count=1 -v -run TestSoak ./internal/soak
//
// A case is a seed. The seed chooses the lifecycle, which disturbance each operation meets, and after how many steps, programs and
// requests it comes. TestSoak prints the seed of a case that fails; VNFKIT_SEED runs that case alone, and with VNFKIT_SOAK
// (a duration) it is the first of as many cases as there is time for. Operations work on machines in parallel, and a seed does
// not choose the order of what happens there: a case that has failed may have to run several times.
//
// To add a lifecycle or a disturbance, add a line to the table of that name.
//
// The processes of TestSoak are Managers in this process, whose store and connections are cut when they die. Real processes get
// SIGKILL and SIGSTOP in TestProcesses of vnflcm and TestKilledAtRandom of examples/quickstart, which make soak runs too.
package soak
