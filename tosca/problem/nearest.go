package problem

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of what is compared: bytes of a name, and names of a list.
const longest, most = 80, 500

// Nearest returns the name in among that is most similar to a misspelt name, "" if none is similar. A name that differs only in upper and
// lower case is the most similar one; of equally similar names Nearest returns the first of the alphabet. A third of the name may differ;
// the parts of dotted names that are equal do not count, so that tosca.nodes.nfv.VNF is not similar to tosca.nodes.nfv.VL. Nearest returns
// "" for a name of more than 80 bytes, and for a list of more than 500 names.
func Nearest(name string, among []string) string {
	if len(name) > longest || len(among) > most {
		return ""
	}
	among = slices.Sorted(slices.Values(among))
	for _, candidate := range among {
		if strings.EqualFold(candidate, name) && candidate != name {
			return candidate
		}
	}
	best, distance := "", longest
	for _, candidate := range among {
		if len(candidate) > longest || candidate == name {
			continue
		}
		a, b := withoutCommonParts(name, candidate)
		if d := levenshtein(a, b); d <= max(1, len(a)/3) && d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// withoutCommonParts returns two dotted names without the parts with which both begin.
func withoutCommonParts(a, b string) (restA, restB string) {
	for {
		part, afterA, dotted := strings.Cut(a, ".")
		afterB, same := strings.CutPrefix(b, part+".")
		if !dotted || !same {
			return a, b
		}
		a, b = afterA, afterB
	}
}

// NearestFirst returns the names sorted by their similarity to a misspelt name, the most similar first. Names with more than 80 bytes come
// last. If name is longer, or there are more than 500 names, the order is alphabetical.
func NearestFirst(name string, among []string) []string {
	out := slices.Sorted(slices.Values(among))
	if len(name) > longest || len(among) > most {
		return out
	}
	distances := make(map[string]int, len(out))
	for _, candidate := range out {
		distances[candidate] = 2 * longest
		if len(candidate) <= longest {
			distances[candidate] = levenshtein(name, candidate)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return out
}

// levenshtein returns the number of bytes to insert, remove, replace, or swap with the next byte.
func levenshtein(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
