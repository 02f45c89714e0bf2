"""`headrace bench`: how fast the loader is on the user's own data, and what it takes to get there.

In the order data flows: `workload` (what is loaded), `plain` (the bound), `pace` (the loop), `child` (a cold process),
`measure` (all of it, in turn), `report` (what was found), `command`.
"""
