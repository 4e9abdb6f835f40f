"""Program 1: an AdmissionReview comes in, a verdict goes out, a record stays."""
