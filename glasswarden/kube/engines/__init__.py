"""The GitOps engines, and which objects each of them owns."""
