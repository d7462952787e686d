package conformance

func replayCost(f *File, c *Case) string { return notBuilt }

func replayOrder(f *File, c *Case) string { return notBuilt }

func replayBalanced(f *File, c *Case) string { return notBuilt }

func replayCanPass(f *File, c *Case) string { return notBuilt }

func replayConsolidatable(f *File, c *Case) string { return notBuilt }
