"""The experiments that the papers print: Mwigo & Dasgupta, Trauger & Tewari, Arda et al."""
