package tosca

// buildHooks reads the Vnflcm interface of the VNF node and its artifacts. When
// the node of the flavour has no interfaces at all, those of the entry file's VNF
// node apply.
func (b *flavourBuilder) buildHooks() {
	n := b.vnf
	if n.node.get("interfaces") == nil {
		if entry, ok := b.builder.entry.vnf(); ok && entry.node.get("interfaces") != nil {
			n = entry
		}
	}
	b.Hooks, b.Drivers, b.Artifacts = map[string]string{}, map[string]Artifact{}, map[string]Artifact{}
	for key, a := range b.artifacts(n) {
		if b.topo.types.is(artifactTypes, a.Type, typeImplementation) {
			b.Drivers[key] = a
		} else {
			b.Artifacts[key] = a
		}
	}
	for _, f := range b.vnflcm(n).mapping() {
		if driver := implementation(f.value); driver.scalar() != "" {
			b.hook(f.key, driver)
		}
	}
	for _, a := range b.Drivers {
		if _, err := b.builder.pkg.Artifact(a.File); err != nil {
			b.report.warnf(a.Pos, CodeMissingFile, "the file %q of the driver is not in the package", a.File)
		}
	}
}

// hook records the driver of a hook. A driver may be of any artifact type: what
// the interface names is one.
func (b *flavourBuilder) hook(name string, driver *node) {
	key := driver.scalar()
	if a, ok := b.Artifacts[key]; ok {
		b.Drivers[key] = a
		delete(b.Artifacts, key)
	}
	if _, ok := b.Drivers[key]; !ok {
		b.report.errorf(driver.pos, CodeUnknownDriver, "the hook %s names the driver %q, which is no artifact of the VNF node", name, key)
		return
	}
	b.Hooks[name] = key
}

// vnflcm returns the operations of the Vnflcm interface, which stand under
// "operations" or, in the older notation, directly in the interface.
func (b *flavourBuilder) vnflcm(n template) *node {
	var found *node
	for _, f := range n.node.get("interfaces").mapping() {
		if f.key == "Vnflcm" || b.topo.types.is(interfaceTypes, f.value.get("type").scalar(), typeVnflcmInterface) {
			found = f.value.present()
			break
		}
	}
	if operations := found.get("operations"); operations != nil {
		return operations
	}
	if found.has("type") || found.has("inputs") || found.has("notifications") {
		own := *found
		own.fields = nil
		for _, f := range found.fields {
			if f.key != "type" && f.key != "inputs" && f.key != "notifications" {
				own.fields = append(own.fields, f)
			}
		}
		return &own
	}
	return found
}

// implementation returns the name of the driver of an operation in any notation:
// "op: name", "op: {implementation: name}", "op: {implementation: {primary:
// name}}". Nothing, null and [] mean that there is none.
func implementation(operation *node) *node {
	if operation.scalar() != "" {
		return operation
	}
	i := operation.get("implementation")
	if primary := i.get("primary"); primary != nil {
		return primary
	}
	return i
}
