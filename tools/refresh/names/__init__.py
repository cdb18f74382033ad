"""Tell which names the packages of the stack ask of each other, and which releases have them.

One way through: releases -> their sources -> names asked -> names given -> two tables.
"""
