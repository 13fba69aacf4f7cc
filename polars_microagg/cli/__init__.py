"""The command line `microagg`, written from the register of methods."""
