package conformance

func replayRequirements(f *File, c *Case) string { return notBuilt }

func replayTaints(f *File, c *Case) string { return notBuilt }

func replayInstanceTypes(f *File, c *Case) string { return notBuilt }
