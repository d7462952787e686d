package scheduling

import (
	"cmp"
	"slices"
	"strings"
)

// Simulate answers where the pods of the removed nodes would go, beside the
// pods that are pending and those of nodes being deleted.
//
// It places them as Karpenter v1.14 does: one after another by size, each on
// the first existing node that fits, else on a node opened before, else on a
// new one of the heaviest pool that has a type for it; a pod that fits nowhere
// gives up its preferences one by one. Names in Remove that no node bears are
// ignored. The cost grows with the pods that move, not with the cluster.
func (s *Snapshot) Simulate(r Request) Result {
	if len(s.usable) == 0 {
		return Result{NoPools: true}
	}
	w := s.workspaces.Get().(*workspace)
	defer s.workspaces.Put(w)
	w.begin(r)
	w.run()
	result := w.result()
	w.end()
	return result
}

// workspace is the memory of one simulation, used again for the next. Whatever
// it knows beyond one simulation depends on the snapshot alone.
type workspace struct {
	s *Snapshot
	r Request

	pods  []movingPod // in the order in which they register
	queue []int32     // indexes into pods; the first head of them are done
	head  int

	gone    bitset  // removed nodes, by host
	removed []int32 // the same as a list
	slots   []int32 // by host: its row in filled plus one, 0 if untouched
	filled  []filledHost
	claims  []*claimState // opened nodes, in Karpenter's order
	opened  int
	spare   []*claimState
	fresh   *claimState // the one being tried
	limits  []poolLimits
	charged []bool // by template: limits has its copy

	topology  activeTopology
	sets      setTable
	held      reservations
	truncated bool
	// scratch of result.
	sorted, position []int32
}

// movingPod is a pod to be placed.
type movingPod struct {
	*podRow
	index  int32
	class  *podClass
	origin Origin
	// exempt: it may move to a settling node.
	exempt bool
	// bare: its volumes are unreadable, so its first try knows neither them nor
	// its topology.
	bare bool
	// lastLen is the length of the queue when it was last put back.
	lastLen int
	stage   int   // the last that was tried, an index into class.stages
	host    int32 // where it went, -1 if to no existing node
	claim   *claimState
}

// filledHost is an existing node that took pods in this simulation.
type filledHost struct {
	host     int32
	free     []int64
	ports    []hostPort
	attached []attachment
}

func newWorkspace(s *Snapshot) *workspace {
	w := &workspace{
		s:       s,
		gone:    newBitset(len(s.hosts.hosts)),
		slots:   make([]int32, len(s.hosts.hosts)),
		limits:  make([]poolLimits, len(s.templates)),
		charged: make([]bool, len(s.templates)),
	}
	w.sets = newSetTable(s)
	w.topology = newActiveTopology(s)
	w.held = newReservations(s)
	return w
}

// begin collects the pods to place, in the order in which their topology
// constraints register: pending, then node by node the removed ones, then the
// nodes being deleted.
func (w *workspace) begin(r Request) {
	w.r = r
	w.add(w.s.pods.pending, FromPending)
	for _, name := range r.Remove {
		host, ok := w.s.hosts.find(name)
		if !ok || w.gone.has(host) {
			continue
		}
		w.gone.set(host)
		w.removed = append(w.removed, int32(host))
		w.add(w.s.hosts.hosts[host].pods, FromRemoved)
	}
	for i := w.s.hosts.dests; i < len(w.s.hosts.hosts); i++ {
		if !w.gone.has(i) {
			w.add(w.s.hosts.hosts[i].pods, FromDeleting)
		}
	}
	w.held.begin()
	w.topology.begin(w)
	for i := range w.pods {
		w.queue = append(w.queue, int32(i))
	}
	slices.SortFunc(w.queue, func(a, b int32) int { return compareMoving(&w.pods[a], &w.pods[b]) })
}

func (w *workspace) add(rows span, origin Origin) {
	for i := rows.from; i < rows.to; i++ {
		row := &w.s.pods.rows[i]
		if origin != FromPending && !row.flags.is(podMoves) {
			continue
		}
		w.pods = append(w.pods, w.moving(row, origin))
	}
}

func (w *workspace) moving(row *podRow, origin Origin) movingPod {
	return movingPod{
		podRow: row, index: int32(len(w.pods)), class: w.s.book.classes[row.class], origin: origin, host: -1,
		exempt: row.flags.is(podExempt) || w.s.onDeleting(row),
		bare:   w.s.unreadable(row),
	}
}

// refused is why a pod is not tried at all, "" if it is.
func (w *workspace) refused(p *movingPod) Code {
	switch {
	case p.class.claims && !w.s.opts.AllowResourceClaims:
		return ResourceClaims
	case w.s.opts.RefuseUnknownVolumes && w.s.unreadable(p.podRow):
		return UnknownVolumes
	}
	return ""
}

// compareMoving orders the queue: most CPU first, then most memory, then the
// oldest, then by UID.
func compareMoving(a, b *movingPod) int {
	if a.class != b.class {
		if c := cmp.Or(cmp.Compare(b.class.cpu, a.class.cpu), cmp.Compare(b.class.memory, a.class.memory)); c != 0 {
			return c
		}
	}
	if c := a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(string(a.pod.UID), string(b.pod.UID)), comparePodNames(*a.podRow, *b.podRow))
}

// run places the pods. One that fails goes to the back of the queue; a whole
// turn without progress ends it.
func (w *workspace) run() {
	for w.head < len(w.queue) {
		i, left := w.queue[w.head], len(w.queue)-w.head
		p := &w.pods[i]
		if p.lastLen == left {
			return
		}
		w.head++
		if w.place(p) {
			if w.tooMany() {
				w.truncated = true
				return
			}
			continue
		}
		w.queue = append(w.queue, i)
		p.lastLen = left
	}
}

func (w *workspace) tooMany() bool { return w.r.MaxNewNodes > 0 && w.opened > w.r.MaxNewNodes }

// place tries every stage of the pod: as it is, and after each relaxation.
func (w *workspace) place(p *movingPod) bool {
	if w.refused(p) != "" {
		return false
	}
	bare := p.bare
	for i := range p.class.stages {
		st := &p.class.stages[i]
		p.stage = i
		if i > 0 {
			bare = false
			w.topology.register(w, st)
		}
		placed, final := w.tryStage(p, st, bare)
		if placed {
			return true
		}
		if final {
			break
		}
	}
	if p.bare {
		p.bare = false
		w.topology.register(w, &p.class.stages[0])
	}
	return false
}

// tryStage tries existing nodes, opened ones and new ones. final says that
// relaxing the pod is no use.
func (w *workspace) tryStage(p *movingPod, st *stage, bare bool) (placed, final bool) {
	links := st.links
	if bare {
		links = nil
	}
	w.topology.prepare(w, p, st.strict, links)
	if w.tryHosts(p, st) || w.tryClaims(p, st) {
		return true, false
	}
	return w.tryTemplates(p, st)
}

// end forgets the simulation, at the cost of what it touched.
func (w *workspace) end() {
	for _, host := range w.removed {
		w.gone.unset(int(host))
	}
	for i := range w.filled {
		w.slots[w.filled[i].host] = 0
	}
	w.spare = append(w.spare, w.claims...)
	clear(w.pods)
	clear(w.charged)
	w.pods, w.queue, w.removed, w.filled, w.claims = w.pods[:0], w.queue[:0], w.removed[:0], w.filled[:0], w.claims[:0]
	w.head, w.opened, w.truncated, w.r = 0, 0, false, Request{}
	w.topology.end()
	w.sets.trim()
}

// tryHosts puts the pod on the first existing node that takes it.
func (w *workspace) tryHosts(p *movingPod, st *stage) bool {
	if p.noHosts(w.s) {
		return false
	}
	quiet := w.r.SkipSettling && !p.exempt
	mask := w.s.mask(st.shape, quiet)
	for h := w.s.firstHost(p.class, st, quiet, mask); h >= 0; h = w.s.free.next(h+1, p.class.need, mask) {
		if !w.gone.has(h) && w.hasRoom(h, p) && w.topology.allowsHost(h) {
			w.putOnHost(h, p)
			return true
		}
	}
	return false
}

// firstHost is the first node that suits pods of the class while nothing has
// moved, -1 if none does. It is found once: simulations only take room away.
func (s *Snapshot) firstHost(c *podClass, st *stage, quiet bool, mask bitset) int {
	memo := &s.matches.first[2*int(st.id)+int(bool1(quiet))]
	if known := memo.Load(); known != 0 {
		return int(known) - 2
	}
	floor := &s.matches.floors[2*int(st.shape.id)+int(bool1(quiet))]
	from := floor.of(c.need)
	first := s.free.next(from, c.need, mask)
	floor.note(c.need, from, first)
	memo.Store(int32(first) + 2)
	return first
}

// noHosts: a pod whose volume is gone is refused by all existing nodes.
func (p *movingPod) noHosts(s *Snapshot) bool {
	return p.volume >= 0 && s.volumes.sets[p.volume].lost
}

// hasRoom judges what the free tree doesn't know: what this simulation put on
// the node, its host ports and its volumes.
func (w *workspace) hasRoom(h int, p *movingPod) bool {
	var filled *filledHost
	if slot := w.slots[h]; slot > 0 {
		filled = &w.filled[slot-1]
		for _, a := range p.class.need {
			if filled.free[a.resource] < a.milli {
				return false
			}
		}
	}
	if len(p.class.ports) > 0 && !w.portsFree(h, p.class.ports, filled) {
		return false
	}
	return p.volume < 0 || w.volumesFit(h, &w.s.volumes.sets[p.volume], filled)
}

func (w *workspace) portsFree(h int, ports []hostPort, filled *filledHost) bool {
	if filled != nil {
		if _, clash := firstClash(ports, filled.ports); clash {
			return false
		}
	}
	rows := w.s.hosts.hosts[h].pods
	for i := rows.from; i < rows.to; i++ {
		row := &w.s.pods.rows[i]
		if !row.flags.is(podLives) {
			continue
		}
		if _, clash := firstClash(ports, w.s.book.classes[row.class].ports); clash {
			return false
		}
	}
	return true
}

func (w *workspace) volumesFit(h int, set *volumeSet, filled *filledHost) bool {
	meets := func(alternative *wish) bool { return w.s.meets(alternative).has(h) }
	if len(set.alternatives) > 0 && !slices.ContainsFunc(set.alternatives, meets) {
		return false
	}
	if len(set.attached) == 0 || w.s.volumes.limits[int32(h)] == nil {
		return true
	}
	var placed []attachment
	if filled != nil {
		placed = filled.attached
	}
	return w.s.canAttach(h, set, placed)
}

func (w *workspace) putOnHost(h int, p *movingPod) {
	if w.slots[h] == 0 {
		w.slots[h] = w.fill(h)
	}
	filled := &w.filled[w.slots[h]-1]
	for _, a := range p.class.need {
		filled.free[a.resource] -= a.milli
	}
	filled.ports = append(filled.ports, p.class.ports...)
	if p.volume >= 0 {
		filled.attached = append(filled.attached, w.s.volumes.sets[p.volume].attached...)
	}
	p.host = int32(h)
	w.topology.recordHost(w, p, h)
}

// fill starts an overlay for a node and returns its slot.
func (w *workspace) fill(h int) int32 {
	if n := len(w.filled); n < cap(w.filled) {
		w.filled = w.filled[:n+1]
	} else {
		w.filled = append(w.filled, filledHost{})
	}
	f := &w.filled[len(w.filled)-1]
	f.host = int32(h)
	f.free = append(f.free[:0], w.s.free.free(h)...)
	f.ports, f.attached = f.ports[:0], f.attached[:0]
	return int32(len(w.filled))
}
