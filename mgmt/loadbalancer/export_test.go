package loadbalancer

// Listeners are the ports and programs that ss -Htlnp names.
func Listeners(text string) map[int][]string {
	out := map[int][]string{}
	for _, l := range parseListeners(text) {
		out[l.port] = append(out[l.port], l.program)
	}
	return out
}
