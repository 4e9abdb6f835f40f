"""The history of an object's fields: who wrote what after whom, and what nobody recorded."""
