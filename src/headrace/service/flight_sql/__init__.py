"""Flight SQL: how clients of others, ADBC and JDBC among them, ask for groups and views in SQL."""
