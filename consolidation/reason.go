package consolidation

import (
	"fmt"
	"strings"
	"time"
)

// Reason is one cause why a node stays or a move is not made.
type Reason struct {
	// Code is stable; Message is for people and may change.
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Objects that the reason is about, "kind/name" or "kind/namespace/name".
	Objects []string `json:"objects,omitempty"`
	// Until is when the reason will lapse by itself, if that is known.
	Until *time.Time `json:"until,omitempty"`
}

// String is the code and the message.
func (r Reason) String() string { return string(r.Code) + ": " + r.Message }

// Code names a kind of reason.
type Code string

// Why a node is no candidate of any method, in the order in which they are
// checked. [PodDoNotDisrupt], [PDBBlocks] and [SeveralPDBs] don't count for drift
// if the claim has a termination grace period.
const (
	InMove           Code = "InMove"
	Unmanaged        Code = "Unmanaged"
	NotJoined        Code = "NotJoined"
	NotInitialized   Code = "NotInitialized"
	Deleting         Code = "Deleting"
	Nominated        Code = "Nominated"
	NodeDoNotDisrupt Code = "NodeDoNotDisrupt"
	NoPool           Code = "NoPool"
	UnknownPool      Code = "UnknownPool"
	NoInstanceTypes  Code = "NoInstanceTypes"
	PodDoNotDisrupt  Code = "PodDoNotDisrupt"
	PDBBlocks        Code = "PDBBlocks"
	SeveralPDBs      Code = "SeveralPDBs"
)

// Why a node is no candidate of one method.
const (
	StaticPool          Code = "StaticPool"
	NotStaticPool       Code = "NotStaticPool"
	UnknownInstanceType Code = "UnknownInstanceType"
	NoCapacityType      Code = "NoCapacityType"
	NoZone              Code = "NoZone"
	NeverConsolidate    Code = "NeverConsolidate"
	Buffered            Code = "Buffered"
	Empty               Code = "Empty"
	NotEmpty            Code = "NotEmpty"
	WhenEmptyOnly       Code = "WhenEmptyOnly"
	NotConsolidatable   Code = "NotConsolidatable"
	NotDrifted          Code = "NotDrifted"
)

// Why a candidate was not looked at, or not taken.
const (
	BudgetSpent      Code = "BudgetSpent"
	CannotPass       Code = "CannotPass"
	NotReached       Code = "NotReached"
	NotChosen        Code = "NotChosen"
	ReplicasExceeded Code = "ReplicasExceeded"
	NodeLimit        Code = "NodeLimit"
	ReplicasMissing  Code = "ReplicasMissing"
	RolloutGate      Code = "RolloutGate"
	TooFewCandidates Code = "TooFewCandidates"
)

// Why a move is not made.
const (
	NoPools           Code = "NoPools"
	PodsUnplaced      Code = "PodsUnplaced"
	TooManyNewNodes   Code = "TooManyNewNodes"
	NotCheaper        Code = "NotCheaper"
	ReplaceOff        Code = "ReplaceOff"
	MinValues         Code = "MinValues"
	SpotToSpotOff     Code = "SpotToSpotOff"
	TooFewSpotTypes   Code = "TooFewSpotTypes"
	SameInstanceType  Code = "SameInstanceType"
	ScoreTooLow       Code = "ScoreTooLow"
	PDBExceeded       Code = "PDBExceeded"
	SearchInterrupted Code = "SearchInterrupted"
)

// Why a guard refuses a move.
const (
	SavingsTooSmall Code = "SavingsTooSmall"
	ChurnLimited    Code = "ChurnLimited"
	PoolCooling     Code = "PoolCooling"
	PodCooling      Code = "PodCooling"
	Looping         Code = "Looping"
	SingleReplica   Code = "SingleReplica"
	AllReplicas     Code = "AllReplicas"
	TooBusy         Code = "TooBusy"
	TooYoung        Code = "TooYoung"
	NoHeadroom      Code = "NoHeadroom"
)

// Why a move that was decided must not be carried out; see [Validate].
const (
	Churn             Code = "Churn"
	BudgetChanged     Code = "BudgetChanged"
	SchedulingChanged Code = "SchedulingChanged"
	SnapshotTooOld    Code = "SnapshotTooOld"
)

func reason(code Code, objects []string, format string, args ...any) Reason {
	return Reason{Code: code, Message: fmt.Sprintf(format, args...), Objects: objects}
}

// object spells the reference to an object.
func object(kind string, name ...string) string {
	return kind + "/" + strings.Join(name, "/")
}
