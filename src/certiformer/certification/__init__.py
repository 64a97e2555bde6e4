"""The main job: what theory guarantees about a trained model's error on new data.

`sources` and `sample` read, `counting` and `predictions` count, `pipeline` divides delta and makes the report, `verify`
makes it again. What has to be trained for a certificate is in `lab`.
"""
