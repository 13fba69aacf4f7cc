"""The page of a release for those who decide on it; drawn with altair when it is called."""
