package conformance

func replayPod(f *File, c *Case) string { return notBuilt }

func replayPDB(f *File, c *Case) string { return notBuilt }

func replayDrain(f *File, c *Case) string { return notBuilt }

func replayVolumes(f *File, c *Case) string { return notBuilt }

func replayExpiration(f *File, c *Case) string { return notBuilt }
