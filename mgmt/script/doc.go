// Package script runs management driver scripts of VNF packages: Python files that were written for version 2 of OpenStack Tacker's
// API. Register a Driver under the name that the VNFD gives the script:
//
//	pool := sshexec.NewPool(sshexec.Options{})
//	config.Mgmt["my-script"] = script.New("my-script", script.Config{Pool: pool})
//
// A script runs with the rights of this process. Register one only if its packages come from people you trust, and have
// the packages' signatures checked (tosca.RequireSignature).
//
// The Driver runs the script for each hook that names it, as Tacker does: it unpacks the package into a new folder and starts
// "python3 <script>". The script reads a pickle of a dict from its standard input:
//
//	operation                       the hook, such as "instantiate_end"
//	request                         the request, in the form of SOL003 version 3
//	vnf_instance                    the VNF instance in that form, with the credentials of its VIM
//	grant_request, grant_response   what the operation adds and removes, and the grant; None for no grant
//	tmp_csar_dir                    the folder; in a change of the package it has the new package, or, rolling back, the former one
//	user_script_err_handling_data   what earlier scripts of the operation have returned under this name
//
// It may write a pickle of a dict to its standard output. Of that, user_script_err_handling_data is kept for the hooks of the
// operation that follow, also if the script fails. Two changes of vnf_instance have effect: metadata of a VNFC
// (Operation.Publish) and further entries of vimConnectionInfo (Operation.RegisterVIM), which get a vimId that follows from the VNF
// instance and their key. A warning names other changes. Pickles that name a class or function are refused.
//
// An exit code other than 0 fails the operation with the end of the script's standard error. Secrets of the request and of the VIM
// are masked there. After a crash the script may run twice. It has no secret in its arguments or environment, which is
// PATH, HOME, TMPDIR and LANG alone.
//
// Validate refuses a script that is missing, is not Python, or imports a module that this machine lacks: scripts that import tacker
// work inside Tacker only.
package script
