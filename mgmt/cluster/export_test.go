package cluster

// RequestedIn reads deprecated versions in the metrics of an API server.
var RequestedIn = requestedIn
