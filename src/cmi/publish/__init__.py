"""Convert a data set to the common format, describe it, and prepare a folder to publish.

export        a data set as preferences and ratings with train, valid and test
sources       rows of preferences, ratings, takes and known data sets, in one shape
recordings    lengths and hashes of recordings, cached
counts        count rows in one pass; `statistics` turns the counts into a record, `tables` and `page` show it
provenance    which system made a recording, and under which terms
shards        rows and recordings as Parquet files, each written whole
card          the data card, README.md
publish       put the folder together; `push` uploads it to the hub
"""
