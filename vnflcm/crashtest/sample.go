package crashtest

import "hash/fnv"

// Sample returns one case of each step from a crash matrix, in the order of the matrix, for test runs that have no time
// for all of it. Of the cases of a step Sample takes the one whose name has the smallest FNV-1a hash: every run takes
// the same cases, and the cut points are spread over the steps. describe returns the step of a case and the name of the
// case, which must be unique. With an empty matrix Sample returns nil.
func Sample[Case any](matrix []Case, describe func(Case) (step, name string)) (sample []Case) {
	type candidate struct {
		index int
		hash  uint64
	}
	best := map[string]candidate{}
	for i, c := range matrix {
		step, name := describe(c)
		h := fnv.New64a()
		_, _ = h.Write([]byte(name)) // a hash never fails to write
		if old, known := best[step]; !known || h.Sum64() < old.hash {
			best[step] = candidate{i, h.Sum64()}
		}
	}
	for i, c := range matrix {
		step, _ := describe(c)
		if best[step].index == i {
			sample = append(sample, c)
		}
	}
	return sample
}
