package disruption

import (
	"sync"
	"sync/atomic"
)

// each calls do(0) … do(n-1), on as many goroutines as workers says, and returns
// when all calls have. The calls must not depend on each other: each writes its
// own place of a result, so the outcome is the same for any number of workers.
func each(n, workers int, do func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		}()
	}
	group.Wait()
}
