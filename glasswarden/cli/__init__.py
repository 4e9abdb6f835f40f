"""The one command, `glasswarden`, also found by kubectl as `kubectl glasswarden`."""
