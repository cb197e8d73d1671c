"""A store in S3, and one in a folder with a table of it. The environment holds keys, region and endpoint."""

import headrace as hr

with hr.connect("s3://lake/examples", project="shop") as fs:
    stock = fs.get_or_create_feature_group("stock", primary_key=["item"])
    stock.insert([{"item": "bolt", "pieces": 10}, {"item": "nut", "pieces": 7}])
    theirs = stock.location

with hr.connect("./lake", registry="sqlite:///own.db") as fs:
    prices = fs.create_feature_group("prices", primary_key=["item"])
    prices.insert([{"item": "bolt", "price": 0.2}, {"item": "nut", "price": 0.1}])
    there = fs.register_feature_group("stock", theirs, format="delta", primary_key=["item"])
    worth = prices.select("item", "price").join(there.select("pieces"), on="item")
    print(worth.read().to_pandas())
