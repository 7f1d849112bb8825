// Package heat creates, updates and deletes Heat stacks (Orchestration API v1) for a VNF driver. It waits until Heat has
// finished, knows which states a stack can pass through meanwhile, and reports the events of the stack. If an action
// fails, the error names the resource that failed first and the reason.
//
// The package sends templates unchanged. It does not use the template types of gophercloud: these fetch the files that a
// template refers to, also from the file system of this machine.
package heat
