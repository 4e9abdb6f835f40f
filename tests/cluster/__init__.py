"""A real Kubernetes control plane, Flux and Argo CD as plain processes on loopback."""
