// Package crashtest tests that operations of a driver survive the death of their process. A test names a step and
// a point in it. The process that works on the operation dies there, and the next process resumes it. The test compares
// the result with that of an undisturbed run:
//
//	steps := new(crashtest.Steps)
//	want := outcome(start(steps.Record)) // undisturbed
//	for _, step := range steps.List() {
//		for _, point := range crashtest.Points {
//			process := crashtest.New(crashtest.Death{Step: crashtest.At(step), Point: point, ...})
//			opID, err := process.Run(ctx, start(process.Attach), begin)
//			...
//			_, err = process.Resume(ctx, start(process.AttachNext), opID)
//			...
//		}
//	}
//
// Where such a matrix takes too long for every test run, [Sample] chooses one case of each step.
//
// start makes a Manager each time, on the same store and the same simulated machines. Attach and AttachNext change its Config. The
// Manager of AttachNext continues the operation as soon as it exists. A dead process cannot reach its store and begins no step, and [Death.End] cuts its other
// resources, such as connections. Steps in the journal must not run again: Resume reports steps that do.
package crashtest
