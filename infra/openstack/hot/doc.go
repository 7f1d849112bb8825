// Package hot reads the Heat templates of a VNF package and changes them.
//
// A package describes its machines for OpenStack in a base HOT per deployment flavour, with nested templates
// beside it:
//
//	BaseHOT/simple/simple_hot_top.yaml
//	BaseHOT/simple/nested/simple_nested_worker.yaml
//
// To see what a stack made from it would ask for:
//
//	t, err := hot.Load(pkg, "simple")
//	for _, r := range t.References("nfv") { … } // [nfv VDU workerNode vcImageId] …
//	for _, g := range t.Groups() { … }          // worker_instance, its members hold the server workerNode
//	err = t.SetCapacity("worker_instance", 3)
//	request := map[string]any{"template": t.Text(), "files": t.Files()}
//
// What a template refers to (`type: worker.yaml`, `get_file`) is read from the package and from nowhere else:
// a path that leads out of it, or a URL, is an error that names the line.
package hot
