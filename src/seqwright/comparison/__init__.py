"""Several recipes or runs trained under one budget, evaluated alike, in one table.

`settings` reads the file, `plan` says what there is to do, `stages` does it in processes of their own (`work`), and
`table` and `page` show what `records` hold.
"""
