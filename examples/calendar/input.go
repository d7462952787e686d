package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/budget"
	"github.com/node-disruption/disruption/examples/internal/dump"
)

// pool is a NodePool as far as its budgets go.
type pool struct {
	name      string
	nodes     int
	sizedBy   string // where the number of nodes comes from
	budgets   []budget.Budget
	byDefault bool // the budgets are the API's default
	grace     *time.Duration
}

// read takes the NodePools of the file, or of the sample. The error names all that
// could not be read; the pools that could are there all the same.
func (c config) read(stdin io.Reader) ([]pool, error) {
	if c.file == "" {
		return decode("the sample", sample, c.size)
	}
	data, err := dump.Content(c.file, stdin)
	if err != nil {
		return nil, err
	}
	return decode(c.file, data, c.size)
}

// decode reads all NodePools from documents in YAML or JSON, lists included, and
// skips everything else. Nodes, if above 0, is the size of each.
func decode(name string, data []byte, nodes int) ([]pool, error) {
	var cluster disruption.Cluster
	_, errs := dump.Add(&cluster, name, data)
	if len(cluster.NodePools) == 0 {
		errs = append(errs, fmt.Errorf("%s: holds no NodePool", name))
	}
	pools := make([]pool, len(cluster.NodePools))
	for i, p := range cluster.NodePools {
		pools[i] = newPool(p, nodes)
	}
	return pools, errors.Join(errs...)
}

func newPool(p *disruption.NodePool, nodes int) pool {
	out := pool{name: p.Name, nodes: nodes, sizedBy: "as told", budgets: p.Spec.Disruption.Budgets}
	if nodes <= 0 {
		out.nodes, out.sizedBy = 10, "assumed"
		if n := p.Status.Resources["nodes"]; n.Value() > 0 {
			out.nodes, out.sizedBy = int(n.Value()), "by its status"
		}
	}
	if out.budgets == nil {
		out.budgets, out.byDefault = disruption.Default(p).Spec.Disruption.Budgets, true
	}
	if grace := p.Spec.Template.Spec.TerminationGracePeriod; grace != nil {
		out.grace = &grace.Duration
	}
	return out
}
