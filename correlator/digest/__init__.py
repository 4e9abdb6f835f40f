"""The weekly review of drift: model, composition and output formats."""
