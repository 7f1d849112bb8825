// Package crashtest shows that the operations of a driver survive the death of their process. A test names a step and
// a point in it; the process that works on the operation dies there, and the next one resumes. What the world looks
// like then must be what it looks like when nobody died, which the test compares:
//
//	steps := new(crashtest.Steps)
//	want := outcome(start(steps.Record)) // undisturbed
//	for _, step := range steps.List() {
//		for _, point := range crashtest.Points {
//			doomed := crashtest.New(crashtest.Death{Step: crashtest.At(step), Point: point, ...})
//			opID, err := doomed.Run(ctx, start(doomed.Doom), begin)
//			...
//			_, err = doomed.Resume(ctx, start(doomed.Succeed), opID)
//			...
//		}
//	}
//
// Where such a matrix takes too long for every test run, [Sample] chooses one case of each step.
//
// start makes a Manager on the same store and the same world each time, under one Owner or none; Doom and Succeed
// change its Config. A process that is dead reaches its store no more, begins no step, and [Death.End] cuts what else it
// holds, such as its connections. What is in the journal must not be done again: Resume reports such steps.
package crashtest
