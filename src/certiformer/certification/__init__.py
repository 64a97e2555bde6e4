"""The main job: what theory guarantees about a trained model's error on new data.

`plan` splits the data and divides delta, `lab.paper_results` says which result applies to which model and with what inputs,
`certificates` turns evaluations into verdicts, `recipes` train what a certificate needs to be informative.
"""
