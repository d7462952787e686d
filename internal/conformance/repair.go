package conformance

func replayRepair(f *File, c *Case) string { return notBuilt }
