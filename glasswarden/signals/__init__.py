"""What people see and are woken by: alerts and a dashboard, made from code. Pure."""
