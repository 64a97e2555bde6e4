"""What people see: tables, explanations, figures."""
