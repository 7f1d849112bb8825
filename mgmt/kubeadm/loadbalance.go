package kubeadm

// balanced reports whether our own haproxy and keepalived serve the API: at a virtual address, unless the
// package's script sets that up.
func (d *deployment) balanced() bool { return d.api.virtual && d.p.ScriptPath == "" }
