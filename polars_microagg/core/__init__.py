"""What a call is: its groups, options and checked plan, and the register of what there is; numpy only."""
