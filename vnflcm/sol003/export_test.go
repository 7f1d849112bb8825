package sol003

// Routes returns the methods and patterns that a handler with these options serves.
func Routes(o Options) (list []string) {
	for _, r := range o.routes() {
		for method := range r.methods {
			list = append(list, method+" "+r.pattern)
		}
	}
	return list
}
