"""A store in HopsFS, and a program of its own for `deltalake`. PEMS_DIR names the folder of the certificates."""

import os
import sys

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import headrace as hr
from headrace.hopsfs import storage_options

namenode = sys.argv[1]  # host:port
tls = hr.TLS.from_dir(os.environ["PEMS_DIR"])

with hr.connect(f"hopsfs://{namenode}/examples/hops-lake", project="shop", tls=tls) as fs:
    stock = fs.get_or_create_feature_group("stock", primary_key=["item"])
    stock.insert([{"item": "bolt", "pieces": 10}, {"item": "nut", "pieces": 7}])
    rows = stock.read().to_arrow()

host = namenode.rpartition(":")[0]
with storage_options(f"hopsfs://{namenode}", tls=tls) as options:
    write_deltalake(f"hdfs://{host}/examples/plain", rows, mode="overwrite", storage_options=options)
    plain = DeltaTable(f"hdfs://{host}/examples/plain", storage_options=options)
    print(pa.table(QueryBuilder().register("plain", plain).execute("SELECT * FROM plain").read_all()))
