"""Tests of the correlator as a service."""
