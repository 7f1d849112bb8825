// Package hot reads the Heat templates of a VNF package and changes them.
//
// A package describes its servers on OpenStack in a base HOT for each deployment flavour, with nested templates in the
// folder nested:
//
//	BaseHOT/simple/simple_hot_top.yaml
//	BaseHOT/simple/nested/simple_nested_worker.yaml
//
// To list the parameters and groups of a template and to prepare a request to Heat:
//
//	t, err := hot.Load(pkg, "simple")
//	for _, r := range t.References("nfv") { … } // [nfv VDU workerNode vcImageId] …
//	for _, g := range t.Groups() { … }          // worker_instance, its members hold the server workerNode
//	err = t.SetCapacity("worker_instance", 3)
//	request := map[string]any{"template": t.Text(), "files": t.Files()}
//
// Load reads files that a template refers to (`type: worker.yaml`, `get_file`) only from the package. A path that leads
// out of the package, or a URL, is an error that names the line.
package hot
