"""Causes of faults in running or failed servers, one module each: what would be seen if it were true, and what if it were not."""
