"""One comparison of declared, live and recorded state, from the scan to findings with causes."""
