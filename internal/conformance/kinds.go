package conformance

// replayers maps each kind to the function that judges its cases, one file a
// package of the library.
func replayers() map[string]replayer {
	return map[string]replayer{
		// budget.go
		"budget": replayBudget,
		// termination.go
		"pod": replayPod, "pdb": replayPDB, "drain": replayDrain, "volumes": replayVolumes, "expiration": replayExpiration,
		// scheduling.go
		"requirements": replayRequirements, "taints": replayTaints, "instancetypes": replayInstanceTypes,
		// consolidation.go
		"cost": replayCost, "order": replayOrder, "balanced": replayBalanced, "canpass": replayCanPass, "consolidatable": replayConsolidatable,
		// drift.go
		"hash": replayHash, "drift": replayDrift,
		// repair.go
		"repair": replayRepair,
		// snapshots.go
		"simulate": replaySimulate, "e2e": replayE2E, "validate": replayValidate,
	}
}
