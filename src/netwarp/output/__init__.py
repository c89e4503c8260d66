"""What an execution of a study says: a table, one JSON object, other formats."""
