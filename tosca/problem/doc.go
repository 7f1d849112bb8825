// Package problem describes the faults of a VNF package so that a program can handle them: each Problem has a position in the package, a
// code that does not change between releases, and a text for display.
//
// Opening a package reports all its faults at once:
//
//	_, err := tosca.Open(ctx, name)
//	var faults problem.List
//	if errors.As(err, &faults) {
//		for _, p := range faults {
//			fmt.Println(p.Position, p.Code, p.Message)
//		}
//	}
//
// To check for one kind of fault, use errors.Is with its code:
//
//	errors.Is(err, problem.Problem{Code: problem.ZipSlip})
package problem
