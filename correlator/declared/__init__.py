"""Declared state: the objects that a folder, a Kustomize overlay or a Helm chart declares."""
