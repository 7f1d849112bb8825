package controlplane

// WithoutFlags returns a file of environment variables without flags that a version of the kubelet does not accept.
var WithoutFlags = withoutFlags
