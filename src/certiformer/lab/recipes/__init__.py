"""Recipes: train what a certificate needs to be useful, with every choice fixed or paid for."""
