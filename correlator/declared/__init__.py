"""What Git says: the objects that a folder, a Kustomize overlay or a Helm chart declares.

To add a way of rendering: one file with a function that returns `Manifests`, and its line in
`rendered`.
"""
