package conformance

func replayBudget(f *File, c *Case) string { return notBuilt }
