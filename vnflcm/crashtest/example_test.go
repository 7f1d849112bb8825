package crashtest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// A driver that makes a server without a look at whether it is there makes two of them, when its process dies before
// it can write down the first.
func Example() {
	ctx := context.Background()
	for _, point := range crashtest.Points {
		world := &cloud{store: vnflcm.NewMemoryStore(), careless: true}
		doomed := crashtest.New(crashtest.Death{
			Step:  func(s vnflcm.StepInfo) bool { return s.Name == "create-server" },
			Point: point,
			Inside: func(_ vnflcm.StepInfo, die func()) (undo func()) {
				world.created = die
				return func() { world.created = nil }
			},
		})
		opID, err := doomed.Run(ctx, world.start(doomed.Doom), instantiate)
		if err != nil {
			log.Fatal(err)
		}
		next := world.start(doomed.Succeed)
		if _, err := doomed.Resume(ctx, next, opID); err != nil {
			log.Fatal(err)
		}
		fmt.Println(point, len(world.servers))
		_ = next.Close(ctx)
	}
	// Output:
	// before Do 1
	// inside Do 2
	// before the journal 2
	// after the journal 1
	// journal lost 2
}
