"""A store in HDFS. HADOOP_CONF_DIR names the folder of hdfs-site.xml, HEADRACE_REGISTRY a database."""

import headrace as hr

with hr.connect("hdfs://test/examples/lake", project="shop") as fs:
    stock = fs.get_or_create_feature_group("stock", primary_key=["item"])
    stock.insert([{"item": "bolt", "pieces": 10}, {"item": "nut", "pieces": 7}])
    print(stock.location)
    print(stock.read().to_pandas())
