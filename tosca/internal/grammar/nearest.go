package grammar

// nearest returns the name that is most like another, "" when none is like it: it
// has to be reached by changing at most every third letter.
func nearest(name string, among []string) string {
	const longest, most = 80, 500
	if len(name) > longest || len(among) > most {
		return ""
	}
	best, distance := "", max(1, len(name)/3)+1
	for _, candidate := range among {
		if len(candidate) > longest {
			continue
		}
		if d := levenshtein(name, candidate); d < distance && candidate != name {
			best, distance = candidate, d
		}
	}
	return best
}

// levenshtein counts the bytes to insert, remove or replace.
func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
