package timeline_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/timeline"
)

// The chart of an operation comes from timeline.Read(ctx, manager, operationID).
func ExampleWriteSVG() {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	chart := &timeline.Chart{Operation: vnflcm.OpInstantiate, State: vnflcm.Completed, Start: start, End: start.Add(90 * time.Second),
		Work: []vnflcm.Performed{
			{Phase: "instantiate_end", Step: "packages", On: "a", Host: "node-0", Start: start, End: start.Add(30 * time.Second)},
			{Phase: "instantiate_end", Step: "packages", On: "b", Host: "node-1", Start: start, End: start.Add(40 * time.Second)},
			{Phase: "instantiate_end", Step: "join", On: "b", Host: "node-1", Start: start.Add(40 * time.Second), End: start.Add(90 * time.Second)},
		}}
	var svg bytes.Buffer
	if err := timeline.WriteSVG(&svg, time.Now(), chart); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(svg.String(), "<svg "))
	for _, step := range chart.CriticalPath(time.Now()) {
		fmt.Println(step.Step, "on", step.Host)
	}
	// Output:
	// true
	// packages on node-1
	// join on node-1
}
