package conformance

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/node-disruption/disruption"
	"github.com/node-disruption/disruption/consolidation"
	"github.com/node-disruption/disruption/scheduling"
)

// reservationLabel is the provider's label in catalogs that have reservations.
const reservationLabel = "karpenter.k8s.aws/capacity-reservation-id"

// snapshot is a recorded cluster: API objects by plural, and a catalog by name.
type snapshot struct {
	Name       string    `json:"name"`
	Now        time.Time `json:"now"`
	SpotToSpot bool      `json:"spotToSpot"`
	Catalog    string    `json:"catalog"`

	NodePools              []*disruption.NodePool          `json:"nodePools"`
	NodeClaims             []*disruption.NodeClaim         `json:"nodeClaims"`
	Nodes                  []*corev1.Node                  `json:"nodes"`
	Pods                   []*corev1.Pod                   `json:"pods"`
	DaemonSets             []*appsv1.DaemonSet             `json:"daemonSets"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	Namespaces             []*corev1.Namespace             `json:"namespaces"`

	Nominated   []string  `json:"nominated"`
	Unavailable []offSpot `json:"unavailable"`

	// reserves: the catalog knows capacity reservations.
	reserves bool
}

// offSpot selects offerings of the catalog that are off; an empty field
// matches all.
type offSpot struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
}

// cluster turns a recorded snapshot into the facts of a pass.
func (s *snapshot) cluster(f *File) (*disruption.Cluster, error) {
	c := &disruption.Cluster{
		Now: s.Now, NodePools: s.NodePools, NodeClaims: s.NodeClaims, Nodes: s.Nodes, Pods: s.Pods,
		DaemonSets: s.DaemonSets, PodDisruptionBudgets: s.PodDisruptionBudgets, PersistentVolumes: s.PersistentVolumes,
		PersistentVolumeClaims: s.PersistentVolumeClaims, StorageClasses: s.StorageClasses, CSINodes: s.CSINodes,
		Namespaces: s.Namespaces, Nominated: s.Nominated,
	}
	catalog, errs := scheduling.ParseCatalog(f.Catalogs[s.Catalog], scheduling.Options{})
	if len(errs) == 0 && slices.Contains(catalog.WellKnownLabels, reservationLabel) {
		s.reserves = true
		catalog, errs = scheduling.ParseCatalog(f.Catalogs[s.Catalog], scheduling.Options{ReservationLabel: reservationLabel})
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	s.switchOff(catalog.InstanceTypes)
	c.Catalog = *catalog
	return c, nil
}

// switchOff makes the offerings unavailable that the snapshot says are.
func (s *snapshot) switchOff(pools map[string][]*scheduling.InstanceType) {
	for _, types := range pools {
		for _, it := range types {
			for i := range it.Offerings {
				for _, off := range s.Unavailable {
					if off.matches(it, &it.Offerings[i]) {
						it.Offerings[i].Available = false
					}
				}
			}
		}
	}
}

func (off offSpot) matches(it *scheduling.InstanceType, o *scheduling.Offering) bool {
	return (off.InstanceType == "" || off.InstanceType == it.Name) &&
		(off.Zone == "" || o.Requirements.Get(corev1.LabelTopologyZone).Has(off.Zone)) &&
		(off.CapacityType == "" || o.Requirements.Get("karpenter.sh/capacity-type").Has(off.CapacityType))
}

// options are those under which the cases were recorded.
func (s *snapshot) options() disruption.Options {
	o := disruption.Options{Consolidation: consolidation.Options{SpotToSpot: s.SpotToSpot}}
	if s.reserves {
		o.Scheduling.ReservationLabel = reservationLabel
	}
	return o
}
