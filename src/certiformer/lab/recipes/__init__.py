"""Recipes: train what a certificate needs to say something, with every choice fixed or paid for."""
