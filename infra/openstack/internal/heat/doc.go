// Package heat does with Heat's stacks (Orchestration API v1) what a VNF driver needs: it makes, updates and
// deletes them, waits for each with the exact states that its operation can pass through, tells what
// happens meanwhile, and on a failure which resource failed first and why.
//
// Templates are sent as they are given. gophercloud would fetch what a template refers to, from the file
// system of this machine too: its template types are not used.
package heat
