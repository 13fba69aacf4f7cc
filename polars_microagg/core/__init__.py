"""The parts of a call: its groups, options and checked plan, and the registers; numpy only."""
