"""What `glasswarden.kube` promises."""
