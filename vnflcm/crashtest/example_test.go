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
		dying := crashtest.New(crashtest.Death{
			Step:  func(s vnflcm.StepInfo) bool { return s.Name == "create-server" },
			Point: point,
			Inside: func(_ vnflcm.StepInfo, die func()) (undo func()) {
				world.created = die
				return func() { world.created = nil }
			},
		})
		opID, err := dying.Run(ctx, world.start(dying.Attach), instantiate)
		if err != nil {
			log.Fatal(err)
		}
		next := world.start(dying.AttachNext)
		if _, err := dying.Resume(ctx, next, opID); err != nil {
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
