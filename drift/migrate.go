package drift

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/node-disruption/disruption/annotations"
)

// Patch is the annotations to set on one object. Annotations that it doesn't
// name stay.
type Patch struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Migrate returns what to write when hashes of a new version come into use, so
// that no node rolls because of it: the hash and version for the pool, and for
// each of its claims that bears another version the new version, and the pool's
// new hash. A claim that has drifted already keeps its hash, and so stays
// drifted; only its version moves.
//
// Claims are patched first, then the pool: a migration that was interrupted goes
// on where it stopped, because the pool's version still is the old one. When the
// pool has the current version, only its hash may need to be written, and claims
// are left alone: that they differ from then on is drift. A nil pool patch means
// that the pool is up to date.
func Migrate(pool *Pool, template *NodeClaimTemplate, claims []Claim, o Options) (poolPatch *Patch, claimPatches []Patch) {
	keys := annotations.For(o.Domain)
	hash, old := NodePoolHash(template), stampOf(pool.Annotations, keys.NodePoolHash, keys.NodePoolHashVersion)
	if old.version != HashVersion {
		for i := range claims {
			if patch := migrateClaim(&claims[i], hash, keys); patch != nil {
				claimPatches = append(claimPatches, *patch)
			}
		}
	}
	if old == (stamp{hash, HashVersion, true}) {
		return nil, claimPatches
	}
	return &Patch{pool.Name, map[string]string{keys.NodePoolHash: hash, keys.NodePoolHashVersion: HashVersion}}, claimPatches
}

func migrateClaim(c *Claim, hash string, keys annotations.Keys) *Patch {
	if c.Annotations[keys.NodePoolHashVersion] == HashVersion {
		return nil
	}
	set := map[string]string{keys.NodePoolHashVersion: HashVersion}
	if c.Drifted == nil || c.Drifted.Status != metav1.ConditionTrue {
		set[keys.NodePoolHash] = hash
	}
	return &Patch{c.Name, set}
}
