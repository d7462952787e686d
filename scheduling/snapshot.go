package scheduling

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/node-disruption/disruption/annotations"
)

// Snapshot is a cluster compiled for what-if questions. It is immutable and
// safe for concurrent use; a simulation leaves no trace in it.
type Snapshot struct {
	opts      Options
	keys      annotations.Keys
	wellKnown []string
	cluster   *Cluster

	// book is shared with the snapshots derived from this one.
	book      *podBook
	resources resourceTable
	hosts     hostTable
	pods      podTable
	matches   matchTable
	topology  topologyState
	volumes   volumeTable
	free      *freeTree

	// usable are the pools that can open nodes, in the order they are tried;
	// templates are those of them that have a type to launch.
	usable       []*Pool
	templates    []*template
	reservations reservationTable

	workspaces sync.Pool
}

// NewSnapshot compiles a cluster. It costs a few microseconds a pod; what it
// keeps beside the given objects is a few hundred bytes a pod at most.
//
// The error is an aggregate of [field.Error], by path: two nodes or pools of one
// name, a node without a name or that is neither a node nor a claim, a malformed
// requirement or label selector, an unknown policy among the options, a nil
// pointer in a list.
// The objects of the cluster are read, never written, and must not change while
// the snapshot is in use.
func NewSnapshot(cluster Cluster, opts Options) (*Snapshot, error) {
	s := &Snapshot{
		opts:    opts,
		keys:    annotations.For(opts.Domain),
		cluster: &cluster,
	}
	s.wellKnown = append(s.keys.WellKnownLabels(), opts.WellKnownLabels...)
	if err := s.begin(&cluster); err != nil {
		return nil, err
	}
	s.book = newPodBook(cluster.Namespaces, prefersNoSchedule(s.usable))
	s.book.ignorePreferences = opts.Preferences == PreferencesIgnore
	s.volumes = newVolumeTable(&cluster)
	s.collectPods(&cluster)
	if err := s.unreadablePods(); err != nil {
		return nil, err
	}
	s.compileHosts(&cluster)
	return s, nil
}

// begin checks the options and the cluster, and lists its nodes and pools.
func (s *Snapshot) begin(c *Cluster) error {
	if errs := c.missing(); len(errs) > 0 {
		return errs.ToAggregate()
	}
	pools, errs := checkPools(c)
	hosts, more := listHosts(c, s.keys, pools)
	if errs = append(append(s.opts.validate(), errs...), more...); len(errs) > 0 {
		return errs.ToAggregate()
	}
	s.hosts, s.usable = hosts, orderPools(c)
	s.compileReservations()
	return nil
}

// unreadablePods reports the pods whose label selectors can't be read.
func (s *Snapshot) unreadablePods() error {
	bad := func(c *podClass) bool { return c.unreadable != nil }
	if !slices.ContainsFunc(s.book.classes, bad) {
		return nil
	}
	var errs field.ErrorList
	for i := range s.pods.rows {
		row := &s.pods.rows[i]
		if err := s.book.classes[row.class].unreadable; err != nil {
			path := field.NewPath("pods").Key(row.pod.Namespace + "/" + row.pod.Name)
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "label selector: "+err.Error()))
		}
	}
	return errs.ToAggregate()
}

// compileHosts fills the tables that depend on the nodes, each from those before
// it; the book is complete.
func (s *Snapshot) compileHosts(c *Cluster) {
	s.resources = resourceTable{names: slices.Clone(s.book.resources.names), index: maps.Clone(s.book.resources.index)}
	s.compileColumns()
	s.compileTopology()
	s.compileLimits(c)
	s.compileFree(c)
	s.workspaces.New = func() any { return newWorkspace(s) }
}

// checkPools indexes the pools by name.
func checkPools(c *Cluster) (map[string]*Pool, field.ErrorList) {
	pools := make(map[string]*Pool, len(c.Pools))
	var errs field.ErrorList
	for i := range c.Pools {
		p, path := &c.Pools[i], field.NewPath("pools").Index(i)
		if _, twice := pools[p.Name]; twice {
			errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
		}
		pools[p.Name] = p
		for j, r := range p.Requirements {
			errs = append(errs, r.Validate(path.Child("requirements").Index(j))...)
		}
	}
	return pools, errs
}

// prefersNoSchedule reports whether a pool has a taint that pods may be allowed
// to tolerate as their last relaxation.
func prefersNoSchedule(pools []*Pool) bool {
	return slices.ContainsFunc(pools, func(p *Pool) bool {
		return slices.ContainsFunc(p.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	})
}

// compileFree makes the templates and computes what every destination has free
// for pods. Daemons come last, since judging templates wears them down.
func (s *Snapshot) compileFree(c *Cluster) {
	daemons := s.collectDaemons(c)
	for i := range s.hosts.hosts {
		s.resources.offers(s.hosts.hosts[i].allocatable())
	}
	for _, p := range s.usable {
		if t := s.compileTemplate(p, daemons); t != nil {
			t.id = len(s.templates)
			s.templates = append(s.templates, t)
		}
	}
	width := len(s.resources.names)
	s.padRooms(width)
	owed := s.daemonsOnHosts(daemons)
	s.free = newFreeTree(s.hosts.dests, width)
	used := make([]int64, width)
	for i := range s.hosts.hosts[:s.hosts.dests] {
		clear(used)
		s.usage(i, used, owed[i*width:(i+1)*width])
		s.setFree(i, used, owed[i*width:(i+1)*width])
	}
	s.free.seal()
}

// padRooms makes all rooms as wide as the resource table, which is complete now.
func (s *Snapshot) padRooms(width int) {
	for _, t := range s.templates {
		for i := range t.options {
			room := make(vector, width)
			copy(room, t.options[i].room)
			t.options[i].room = room
		}
	}
}

// usage sums what the pods of a node use, and takes off what is owed to daemons
// that are there already.
func (s *Snapshot) usage(host int, used, owed []int64) {
	rows := s.hosts.hosts[host].pods
	for i := rows.from; i < rows.to; i++ {
		row := &s.pods.rows[i]
		if !row.flags.is(podLives) {
			continue
		}
		for _, a := range s.book.classes[row.class].need {
			used[a.resource] = saturate(used[a.resource], a.milli)
			if row.flags.is(podDaemon) {
				owed[a.resource] -= a.milli
			}
		}
	}
}

// setFree fills the row of a node. If a resource that the node lists is used
// beyond what there is, or less is left than the daemons still to come need,
// the node refuses every pod, and its row stays as it is. A resource that the
// node doesn't list can't be overdrawn by pods that are there.
func (s *Snapshot) setFree(host int, used, owed []int64) {
	if s.overLimit(host) {
		return
	}
	row := make([]int64, len(used))
	for name, q := range s.hosts.hosts[host].allocatable() {
		r := s.resources.index[name]
		row[r] = saturate(milliDown(q), -used[r])
		if row[r] < 0 {
			return
		}
	}
	for r := range row {
		if row[r] -= max(0, owed[r]); row[r] < 0 {
			return
		}
	}
	copy(s.free.free(host), row)
}

// spreadsOf returns the pod's topology spread constraints, or the default ones
// if it has none.
func (s *Snapshot) spreadsOf(pod *corev1.Pod) []corev1.TopologySpreadConstraint {
	own := pod.Spec.TopologySpreadConstraints
	if len(own) > 0 || len(s.opts.DefaultSpread) == 0 || s.opts.SelectorOf == nil {
		return own
	}
	selector := s.opts.SelectorOf(pod)
	if selector == nil {
		return nil
	}
	spreads := slices.Clone(s.opts.DefaultSpread)
	for i := range spreads {
		spreads[i].LabelSelector = selector
	}
	return spreads
}
