package scheduling

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// The tree finds what looking at one node after another finds.
func TestTreeFindsTheFirstNodeWithRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(0, 200).Draw(t, "nodes")
		tree, mask := newFreeTree(nodes, 2), newBitset(nodes)
		refuses := make([]bool, nodes)
		numbers := rapid.SliceOfN(rapid.Int64Range(0, 63), nodes, nodes).Draw(t, "free")
		for i, n := range numbers {
			if n%5 != 0 {
				mask.set(i)
			}
			if refuses[i] = n%7 == 0; !refuses[i] { // a node that refuses all keeps -1
				copy(tree.free(i), []int64{n % 8, n / 8})
			}
		}
		tree.seal()
		need := []amount{{0, rapid.Int64Range(0, 8).Draw(t, "first")}, {1, rapid.Int64Range(0, 8).Draw(t, "second")}}
		from := rapid.IntRange(0, nodes+1).Draw(t, "from")
		want := -1
		for i := from; i < nodes && want < 0; i++ {
			if mask.has(i) && !refuses[i] && numbers[i]%8 >= need[0].milli && numbers[i]/8 >= need[1].milli {
				want = i
			}
		}
		require.Equal(t, want, tree.next(from, need, mask))
	})
}

// Beginning each search where earlier ones ended finds the same nodes, however
// many searches there were.
func TestFloorsDoNotChangeWhatIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 400).Draw(t, "nodes")
		tree, mask := newFreeTree(nodes, 3), newBitset(nodes)
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range nodes {
			mask.set(i)
			// The later a node, the more it has: then searches are long.
			copy(tree.free(i), []int64{dice.Int64N(int64(i/8 + 1)), dice.Int64N(int64(i/8 + 1)), dice.Int64N(20)})
		}
		tree.seal()
		var f floor
		for range 100 {
			need := vector{dice.Int64N(50), dice.Int64N(50), dice.Int64N(3)}.amounts()
			from := f.of(need)
			got, want := tree.next(from, need, mask), tree.next(0, need, mask)
			require.Equal(t, want, got)
			f.note(need, from, got)
			require.LessOrEqual(t, len(f.all()), maxSearched)
		}
		require.NotEmpty(t, f.all())
	})
}

// A pod clashes on a port with equal protocol and number, where the addresses
// are equal or one of them is unspecified, across families.
func TestHostPortsClash(t *testing.T) {
	cases := []struct {
		name string
		a, b hostPort
		want bool
	}{
		{"the same address", port("10.0.0.1", 80, "TCP"), port("10.0.0.1", 80, "TCP"), true},
		{"two addresses", port("10.0.0.1", 80, "TCP"), port("10.0.0.2", 80, "TCP"), false},
		{"no address is all addresses", port("", 80, "TCP"), port("10.0.0.2", 80, "TCP"), true},
		{"all IPv6 addresses and an IPv4 one", port("::", 80, "TCP"), port("10.0.0.2", 80, "TCP"), true},
		{"another protocol", port("", 80, "TCP"), port("", 80, "UDP"), false},
		{"another number", port("", 80, "TCP"), port("", 81, "TCP"), false},
	}
	for _, c := range cases {
		require.Equal(t, c.want, c.a.clashes(c.b), c.name)
		require.Equal(t, c.want, c.b.clashes(c.a), c.name)
	}
}

func port(ip string, number int32, protocol corev1.Protocol) hostPort {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Ports: []corev1.ContainerPort{{HostIP: ip, HostPort: number, Protocol: protocol}},
	}}}}
	return hostPortsOf(pod)[0]
}
