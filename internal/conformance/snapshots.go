package conformance

func replaySimulate(f *File, c *Case) string { return notBuilt }

func replayE2E(f *File, c *Case) string { return notBuilt }

func replayValidate(f *File, c *Case) string { return notBuilt }
